//! What the web needs of the appliance, as a trait: the same pages and API stand before the running appliance and before a
//! hand-made one in tests. Knows the engine's facade and read models; must not know how they come about.

use super::keeper::Keeper;
use crate::domain::cursor::{EventsAsk, HistoryAsk, ItemsAsk, Paged};
use crate::domain::event::Event;
use crate::domain::finding::Wanted;
use crate::domain::ids::*;
use crate::domain::observation::Became;
use crate::domain::spend::{Counted, Spend, SpendAsk};
use crate::domain::target::Phase;
use crate::domain::time::{Now, Span};
use crate::engine::appliance::{Appliance, Health};
use crate::engine::backups::{BackupView, BackupsView};
use crate::engine::controls::Controls;
use crate::engine::gateway::Entrance;
use crate::engine::gateway::given::How;
use crate::engine::intake::Observed;
use crate::engine::plans::WhatIf;
use crate::engine::polling::PollingControls;
use crate::engine::setup::ImportView;
use crate::engine::streams::Standing;
use crate::engine::view::*;
use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use tokio::sync::broadcast;

/// The answer of an operation that may take as long as the provider does.
pub type Slow<'a, T> = Pin<Box<dyn Future<Output = Result<T, Denied>> + Send + 'a>>;

/// A page of what is in the order of its names.
pub type ByName<T> = Result<Paged<T, String>, Denied>;

/// The part of [`Appliance`] that pages, API and metrics use; each method means what it means there.
pub trait Shelf: Keeper {
    fn now(&self) -> Now;
    fn health(&self) -> Health;
    fn connections(&self) -> Result<Vec<ConnectionView>, Denied>;
    fn connections_page(&self, of: &Organization, after: Option<&str>, limit: usize) -> ByName<ConnectionView>;
    fn connection(&self, key: &ConnectionKey) -> Result<ConnectionView, Denied>;
    fn plans(&self) -> Result<Vec<PlanView>, Denied>;
    fn what_if(&self, key: &ConnectionKey, asked: &WhatIf) -> Result<WhatIfView, Denied>;
    fn targets(&self, key: &ConnectionKey) -> Result<Vec<TargetView>, Denied>;
    fn first_targets(&self, key: &ConnectionKey, few: usize) -> Result<Vec<TargetView>, Denied>;
    fn targets_page(&self, key: &ConnectionKey, after: Option<&str>, limit: usize) -> ByName<TargetView>;
    fn scans(&self, key: &ConnectionKey) -> Result<Vec<FeedView>, Denied>;
    fn items(&self, key: &ConnectionKey, few: u64) -> Result<Vec<ItemView>, Denied>;
    fn target(&self, key: &TargetKey, ask: &ItemsAsk) -> Result<TargetView, Denied>;
    /// Of an organization, value by value, but those on trial.
    fn flats(&self, organization: &Organization) -> Result<Vec<FlatView>, Denied>;
    /// Of the connections of an organization.
    fn names(&self, organization: &Organization) -> Vec<String>;
    fn history(&self, key: &TargetKey, ask: &HistoryAsk) -> Result<Paged<HistoryView>, Denied>;
    fn series(&self, key: &TargetKey, item: &str, long: Span) -> Result<SeriesView, Denied>;
    fn ledger(&self, key: &ConnectionKey, after: Option<u64>, limit: usize) -> Result<Vec<ChargeView>, Denied>;
    fn spend_strip(&self, key: &ConnectionKey, slices: usize) -> Result<SpendStrip, Denied>;
    fn stood(&self, key: &ConnectionKey, long: Span) -> Result<StoodView, Denied>;
    fn burn(&self, key: &ConnectionKey, wanted: Option<(&str, Option<&str>)>) -> Result<Option<BurnView>, Denied>;
    fn spend(&self, ask: &SpendAsk) -> Result<SpendView, Denied>;
    fn job(&self, id: JobId) -> Result<JobView, Denied>;
    fn jobs(&self, key: &ConnectionKey, limit: usize) -> Result<Vec<JobView>, Denied>;
    fn activity(&self, ask: &EventsAsk) -> Result<Paged<EventView>, Denied>;
    fn events_after(&self, after: EventId, limit: usize) -> Result<Vec<EventView>, Denied>;
    fn findings(&self, wanted: &Wanted, after: Option<u64>, limit: usize) -> Result<Vec<FindingView>, Denied>;
    fn last_event_id(&self) -> EventId;
    fn subscribe(&self) -> broadcast::Receiver<Event>;
    fn show_event(&self, event: &Event) -> EventView;
    fn counters(&self) -> Vec<(Counted, Spend)>;
    fn refresh<'a>(&'a self, key: &'a TargetKey, by: &'a str) -> Slow<'a, RefreshView>;
    fn command<'a>(
        &'a self,
        key: &'a ConnectionKey,
        name: &'a str,
        parameters: BTreeMap<String, String>,
        idempotency_key: Option<String>,
        by: &'a str,
    ) -> Slow<'a, JobView>;
    fn webhooks<'a>(&'a self, key: &'a ConnectionKey) -> Slow<'a, Vec<WebhookView>>;
    fn redeliver<'a>(&'a self, key: &'a ConnectionKey, webhook: &'a str, by: &'a str) -> Slow<'a, u64>;
    fn test_webhook<'a>(&'a self, key: &'a ConnectionKey, webhook: &'a str, by: &'a str) -> Slow<'a, WebhookTestView>;
    fn change<'a>(&'a self, key: &'a ConnectionKey, wanted: Controls, by: &'a str) -> Slow<'a, ConnectionView>;
    fn set_credential<'a>(
        &'a self,
        key: &'a ConnectionKey,
        secret: Option<String>,
        by: &'a str,
    ) -> Slow<'a, ConnectionView>;
    fn probe_cost<'a>(&'a self, key: &'a ConnectionKey, target: Option<&'a str>) -> Slow<'a, ProbeView>;
    fn probe<'a>(&'a self, key: &'a ConnectionKey, target: Option<&'a str>, by: &'a str) -> Slow<'a, ProbeView>;
    fn polling(&self) -> Slow<'_, PollingView>;
    fn change_polling<'a>(&'a self, wanted: PollingControls, by: &'a str) -> Slow<'a, PollingView>;
    /// `true`: it is new.
    fn put_target<'a>(
        &'a self,
        key: &'a TargetKey,
        body: &'a str,
        phase: Option<Phase>,
        by: &'a str,
    ) -> Slow<'a, (TargetView, bool)>;
    fn set_phase<'a>(&'a self, key: &'a TargetKey, to: Phase, by: &'a str) -> Slow<'a, TargetView>;
    fn drop_target<'a>(&'a self, key: &'a TargetKey, by: &'a str) -> Slow<'a, ()>;
    fn patterns(&self, key: &ConnectionKey) -> Vec<String>;
    fn backup<'a>(&'a self, destination: &'a Path) -> Slow<'a, String>;
    fn backups(&self) -> Slow<'_, BackupsView>;
    fn back_up<'a>(&'a self, by: &'a str) -> Slow<'a, BackupView>;
    /// The gateway of a connection, before which unmodified clients stand.
    fn entrance(&self, organization: &Organization, connection: &str) -> Option<Entrance>;
    /// Of all connections of that name, whichever organization they are of.
    fn entrances(&self, connection: &str) -> Vec<Entrance>;
    fn gateway_counts(&self) -> Vec<(ConnectionKey, How, u64)>;
    fn streams(&self) -> BTreeMap<ConnectionKey, Standing>;
    /// How the link to a broker of MQTT stands; `None`: there is none.
    fn broker(&self) -> Option<BrokerView> {
        self.appliance().ok()?.broker()
    }
    /// The appliance itself, for pages that write connections; one that was made by hand has none.
    fn appliance(&self) -> Result<&Appliance, Denied> {
        Err(Denied::Unavailable("connections cannot be written here".to_owned()))
    }
    /// Takes an answer in that was pushed.
    fn observe<'a>(&'a self, key: &'a TargetKey, observed: Observed, by: &'a str) -> Slow<'a, ObservationView> {
        Box::pin(async move { self.appliance()?.observe(key, observed, by).await })
    }
    fn intake_counts(&self) -> Vec<(ConnectionKey, Became, u64)> {
        self.appliance().map(Appliance::intake_counts).unwrap_or_default()
    }
    /// The whole configuration as one text.
    fn export(&self) -> Result<String, Denied> {
        self.appliance()?.export()
    }
    /// What becomes of the connections of a text; they are taken in `by` somebody, or only looked at.
    fn import<'a>(&'a self, text: &'a str, by: Option<&'a str>) -> Slow<'a, ImportView> {
        Box::pin(async move {
            match by {
                Some(by) => self.appliance()?.import(text, by).await,
                None => self.appliance()?.look_at_import(text),
            }
        })
    }
}

impl Shelf for Appliance {
    fn now(&self) -> Now {
        Appliance::now(self)
    }
    fn health(&self) -> Health {
        Appliance::health(self)
    }
    fn connections(&self) -> Result<Vec<ConnectionView>, Denied> {
        Appliance::connections(self)
    }
    fn connections_page(&self, of: &Organization, after: Option<&str>, limit: usize) -> ByName<ConnectionView> {
        Appliance::connections_page(self, of, after, limit)
    }
    fn connection(&self, key: &ConnectionKey) -> Result<ConnectionView, Denied> {
        Appliance::connection(self, key)
    }
    fn plans(&self) -> Result<Vec<PlanView>, Denied> {
        Appliance::plans(self)
    }
    fn what_if(&self, key: &ConnectionKey, asked: &WhatIf) -> Result<WhatIfView, Denied> {
        Appliance::what_if(self, key, asked)
    }
    fn targets(&self, key: &ConnectionKey) -> Result<Vec<TargetView>, Denied> {
        Appliance::targets(self, key)
    }
    fn first_targets(&self, key: &ConnectionKey, few: usize) -> Result<Vec<TargetView>, Denied> {
        Appliance::first_targets(self, key, few)
    }
    fn targets_page(&self, key: &ConnectionKey, after: Option<&str>, limit: usize) -> ByName<TargetView> {
        Appliance::targets_page(self, key, after, limit)
    }
    fn scans(&self, key: &ConnectionKey) -> Result<Vec<FeedView>, Denied> {
        Appliance::scans(self, key)
    }
    fn items(&self, key: &ConnectionKey, few: u64) -> Result<Vec<ItemView>, Denied> {
        Appliance::items(self, key, few)
    }
    fn target(&self, key: &TargetKey, ask: &ItemsAsk) -> Result<TargetView, Denied> {
        Appliance::target(self, key, ask)
    }
    fn flats(&self, organization: &Organization) -> Result<Vec<FlatView>, Denied> {
        self.flats_of(organization)
    }
    fn names(&self, organization: &Organization) -> Vec<String> {
        Appliance::names(self, organization)
    }
    fn history(&self, key: &TargetKey, ask: &HistoryAsk) -> Result<Paged<HistoryView>, Denied> {
        Appliance::history(self, key, ask)
    }
    fn series(&self, key: &TargetKey, item: &str, long: Span) -> Result<SeriesView, Denied> {
        Appliance::series(self, key, item, long)
    }
    fn ledger(&self, key: &ConnectionKey, after: Option<u64>, limit: usize) -> Result<Vec<ChargeView>, Denied> {
        Appliance::ledger(self, key, after, limit)
    }
    fn spend_strip(&self, key: &ConnectionKey, slices: usize) -> Result<SpendStrip, Denied> {
        Appliance::spend_strip(self, key, slices)
    }
    fn stood(&self, key: &ConnectionKey, long: Span) -> Result<StoodView, Denied> {
        Appliance::stood(self, key, long)
    }
    fn burn(&self, key: &ConnectionKey, wanted: Option<(&str, Option<&str>)>) -> Result<Option<BurnView>, Denied> {
        Appliance::burn(self, key, wanted)
    }
    fn spend(&self, ask: &SpendAsk) -> Result<SpendView, Denied> {
        Appliance::spend(self, ask)
    }
    fn job(&self, id: JobId) -> Result<JobView, Denied> {
        Appliance::job(self, id)
    }
    fn jobs(&self, key: &ConnectionKey, limit: usize) -> Result<Vec<JobView>, Denied> {
        Appliance::jobs(self, key, limit)
    }
    fn activity(&self, ask: &EventsAsk) -> Result<Paged<EventView>, Denied> {
        Appliance::activity(self, ask)
    }
    fn events_after(&self, after: EventId, limit: usize) -> Result<Vec<EventView>, Denied> {
        Appliance::events_after(self, after, limit)
    }
    fn findings(&self, wanted: &Wanted, after: Option<u64>, limit: usize) -> Result<Vec<FindingView>, Denied> {
        Appliance::findings(self, wanted, after, limit)
    }
    fn last_event_id(&self) -> EventId {
        Appliance::last_event_id(self)
    }
    fn subscribe(&self) -> broadcast::Receiver<Event> {
        Appliance::subscribe(self)
    }
    fn show_event(&self, event: &Event) -> EventView {
        Appliance::show_event(self, event)
    }
    fn counters(&self) -> Vec<(Counted, Spend)> {
        Appliance::counters(self)
    }
    fn refresh<'a>(&'a self, key: &'a TargetKey, by: &'a str) -> Slow<'a, RefreshView> {
        Box::pin(Appliance::refresh(self, key, by))
    }
    fn command<'a>(
        &'a self,
        key: &'a ConnectionKey,
        name: &'a str,
        parameters: BTreeMap<String, String>,
        idempotency_key: Option<String>,
        by: &'a str,
    ) -> Slow<'a, JobView> {
        Box::pin(Appliance::command(self, key, name, parameters, idempotency_key, by))
    }
    fn change<'a>(&'a self, key: &'a ConnectionKey, wanted: Controls, by: &'a str) -> Slow<'a, ConnectionView> {
        Box::pin(Appliance::change(self, key, wanted, by))
    }
    fn set_credential<'a>(
        &'a self,
        key: &'a ConnectionKey,
        secret: Option<String>,
        by: &'a str,
    ) -> Slow<'a, ConnectionView> {
        Box::pin(Appliance::set_credential(self, key, secret, by))
    }
    fn probe_cost<'a>(&'a self, key: &'a ConnectionKey, target: Option<&'a str>) -> Slow<'a, ProbeView> {
        Box::pin(Appliance::probe_cost(self, key, target))
    }
    fn probe<'a>(&'a self, key: &'a ConnectionKey, target: Option<&'a str>, by: &'a str) -> Slow<'a, ProbeView> {
        Box::pin(Appliance::probe(self, key, target, by))
    }
    fn polling(&self) -> Slow<'_, PollingView> {
        Box::pin(async { Ok(Appliance::polling(self).await) })
    }
    fn change_polling<'a>(&'a self, wanted: PollingControls, by: &'a str) -> Slow<'a, PollingView> {
        Box::pin(Appliance::change_polling(self, wanted, by))
    }
    fn webhooks<'a>(&'a self, key: &'a ConnectionKey) -> Slow<'a, Vec<WebhookView>> {
        Box::pin(Appliance::webhooks(self, key))
    }
    fn redeliver<'a>(&'a self, key: &'a ConnectionKey, webhook: &'a str, by: &'a str) -> Slow<'a, u64> {
        Box::pin(Appliance::redeliver(self, key, webhook, by))
    }
    fn test_webhook<'a>(&'a self, key: &'a ConnectionKey, webhook: &'a str, by: &'a str) -> Slow<'a, WebhookTestView> {
        Box::pin(Appliance::test_webhook(self, key, webhook, by))
    }
    fn put_target<'a>(
        &'a self,
        key: &'a TargetKey,
        body: &'a str,
        phase: Option<Phase>,
        by: &'a str,
    ) -> Slow<'a, (TargetView, bool)> {
        Box::pin(Appliance::put_target(self, key, body, phase, by))
    }
    fn set_phase<'a>(&'a self, key: &'a TargetKey, to: Phase, by: &'a str) -> Slow<'a, TargetView> {
        Box::pin(Appliance::set_phase(self, key, to, by))
    }
    fn drop_target<'a>(&'a self, key: &'a TargetKey, by: &'a str) -> Slow<'a, ()> {
        Box::pin(Appliance::drop_target(self, key, by))
    }
    fn patterns(&self, key: &ConnectionKey) -> Vec<String> {
        Appliance::patterns(self, key)
    }
    fn backup<'a>(&'a self, destination: &'a Path) -> Slow<'a, String> {
        Box::pin(Appliance::backup(self, destination))
    }
    fn backups(&self) -> Slow<'_, BackupsView> {
        Box::pin(Appliance::backups(self))
    }
    fn back_up<'a>(&'a self, by: &'a str) -> Slow<'a, BackupView> {
        Box::pin(Appliance::back_up(self, by))
    }
    fn entrance(&self, organization: &Organization, connection: &str) -> Option<Entrance> {
        Appliance::entrance(self, organization, connection)
    }
    fn entrances(&self, connection: &str) -> Vec<Entrance> {
        Appliance::entrances(self, connection)
    }
    fn gateway_counts(&self) -> Vec<(ConnectionKey, How, u64)> {
        Appliance::gateway_counts(self)
    }
    fn streams(&self) -> BTreeMap<ConnectionKey, Standing> {
        Appliance::streams(self)
    }
    fn appliance(&self) -> Result<&Appliance, Denied> {
        Ok(self)
    }
}
