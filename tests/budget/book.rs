//! What the properties drive: the real ledger, or one with a planted mistake. Must not know the judges.

use larder::domain::charge::{Charge, Resolution};
use larder::domain::connection::Ask;
use larder::domain::ids::{ChargeId, CredentialId, Endpoint};
use larder::domain::limit::Limit;
use larder::domain::time::{Now, Steady};
use larder::rules::budget::{Ledger, Refusal, Request, Usage};

pub const CREDENTIAL: CredentialId = CredentialId([7; 16]);

/// The ledger's questions, so that a mistake can be planted in front of it.
pub trait Book: Clone {
    fn open(limits: &[Limit]) -> Self;
    fn restore(&mut self, charge: &Charge);
    fn admit(&mut self, now: &Now, id: ChargeId, request: &Request) -> Result<Charge, Refusal>;
    fn would_admit(&self, now: &Now, ask: &Ask) -> Result<(), Refusal>;
    fn resolve(&mut self, id: ChargeId, resolution: &Resolution);
    fn sweep(&mut self, now: &Now);
    fn usage(&self, now: &Now, endpoints: &[Endpoint]) -> Vec<Usage>;
    fn horizon(limits: &[Limit], now: &Now) -> Steady;
}

impl Book for Ledger {
    fn open(limits: &[Limit]) -> Ledger {
        Ledger::new(CREDENTIAL, limits.to_vec())
    }
    fn restore(&mut self, charge: &Charge) {
        Ledger::restore(self, charge);
    }
    fn admit(&mut self, now: &Now, id: ChargeId, request: &Request) -> Result<Charge, Refusal> {
        Ledger::admit(self, now, id, request).map(|reserved| reserved.charge().clone())
    }
    fn would_admit(&self, now: &Now, ask: &Ask) -> Result<(), Refusal> {
        Ledger::would_admit(self, now, ask)
    }
    fn resolve(&mut self, id: ChargeId, resolution: &Resolution) {
        Ledger::resolve(self, id, resolution);
    }
    fn sweep(&mut self, now: &Now) {
        Ledger::sweep(self, now);
    }
    fn usage(&self, now: &Now, endpoints: &[Endpoint]) -> Vec<Usage> {
        Ledger::usage(self, now, endpoints)
    }
    fn horizon(limits: &[Limit], now: &Now) -> Steady {
        Ledger::horizon(limits, now)
    }
}
