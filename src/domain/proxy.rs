//! A proxy in front that is believed: the addresses that it asks from, and the header in which it names who asks. Knows no request.

use core::net::IpAddr;
use std::fmt;

/// A proxy of the site's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedProxy {
    /// Only what comes from here is believed.
    pub networks: Vec<Network>,
    /// The header, in lower case, that names the operator whom the proxy has let in; `None`: nobody is let in so.
    pub user_header: Option<String>,
}

impl fmt::Display for TrustedProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let networks: Vec<String> = self.networks.iter().map(Network::to_string).collect();
        write!(f, "{}", networks.join(", "))?;
        self.user_header.iter().try_for_each(|header| write!(f, ", who names operators in {header}"))
    }
}

impl TrustedProxy {
    pub fn is(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address))
    }
}

/// `10.0.0.0/8`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// Leading bits that have to agree.
    bits: u32,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = if self.address.is_ipv4() { 32 } else { 128 };
        write!(f, "{}", self.address)?;
        if self.bits < most { write!(f, "/{}", self.bits) } else { Ok(()) }
    }
}

impl Network {
    /// The error is a sentence.
    pub fn parse(text: &str) -> Result<Network, String> {
        let wrong = || format!("{text:?} is no address, such as \"127.0.0.1\", and no network, such as \"10.0.0.0/8\"");
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits.parse().ok().filter(|n| (1..=most).contains(n)).ok_or_else(wrong)?,
            None => most,
        };
        Ok(Network { address, bits })
    }

    /// An IPv4 address is itself also where it came as IPv6.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => agree(own.to_bits().into(), other.to_bits().into(), 96 + self.bits),
            (IpAddr::V6(own), IpAddr::V6(other)) => agree(own.to_bits(), other.to_bits(), self.bits),
            _ => false,
        }
    }
}

/// Whether the first `bits` of 128 are the same.
fn agree(one: u128, other: u128, bits: u32) -> bool {
    (one ^ other).checked_shr(128 - bits).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        for (network, address, inside) in [
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("127.0.0.1", "::ffff:127.0.0.1", true),
            ("10.0.0.0/8", "10.200.3.4", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("172.30.32.0/23", "172.30.33.255", true),
            ("172.30.32.0/23", "172.30.34.0", false),
            ("fd00::/8", "fd12::1", true),
            ("fd00::/8", "fe80::1", false),
            ("::1", "::1", true),
            ("::1", "127.0.0.1", false),
        ] {
            let parsed = Network::parse(network).unwrap();
            assert_eq!(parsed.to_string(), network);
            assert_eq!(parsed.contains(address.parse().unwrap()), inside, "{address} in {network}");
        }
        for wrong in ["", "proxy", "10.0.0.0/33", "10.0.0.0/0", "10.0.0.0/x", "::/129", "0.0.0.0/0", "10.0.0.0/-1"] {
            assert!(Network::parse(wrong).is_err(), "{wrong}");
        }
    }
}
