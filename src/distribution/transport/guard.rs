//! Keeps customers' addresses out of private networks.
//!
//! # Why
//!
//! A webhook's address is chosen by whoever may write webhooks. Without a guard it could be used to
//! reach what only this machine can reach. The check stands in the resolver, so that the address
//! that is checked is the very address that is called: a name that changes its answer between check
//! and call gains nothing.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Resolves names, and refuses those that lead to a private address.
#[derive(Debug)]
pub(crate) struct GuardedResolver;

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if found.iter().any(|address| is_private(address.ip())) {
                return Err(PrivateTargetError.into());
            }
            let found: Addrs = Box::new(found.into_iter());
            Ok(found)
        })
    }
}

/// A name led to a private address.
#[derive(Debug)]
pub(crate) struct PrivateTargetError;

impl fmt::Display for PrivateTargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name leads to a private address")
    }
}

impl std::error::Error for PrivateTargetError {}

/// Whether an address is not for the public: loopback, private, link-local, shared, multicast,
/// documentation, unspecified, or an IPv4 address of that kind dressed as IPv6.
pub(crate) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, ..] = address.octets();
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 198 && (18..20).contains(&b))
        || (a == 192 && b == 0 && address.octets()[2] == 0)
        || a >= 240
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_private_v4(Ipv4Addr::new(a, b, c, d))
    };
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_private_v4(mapped);
    }
    match segments {
        // NAT64 and 6to4 carry an IPv4 address that is called in the end.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x64, 0xff9b, 1, ..] => true,
        [0x2002, high, low, ..] => embedded(high, low),
        [0, 0, 0, 0, 0, 0, ..] => true,
        [0x2001, 0xdb8, ..] | [0x2001, 0, ..] => true,
        [first, ..] => {
            address.is_multicast() || first & 0xfe00 == 0xfc00 || first & 0xff80 == 0xfe80
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_address_is_known_in_every_dress() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:a00:1::1",
            "ff02::1",
        ] {
            let address = private.parse().expect("an address");
            assert!(is_private(address), "{private}");
        }
    }

    #[test]
    fn a_public_address_may_be_called() {
        for public in [
            "93.184.216.34",
            "172.32.0.1",
            "100.128.0.1",
            "2606:2800:220:1::1",
            "64:ff9b::5db8:d822",
        ] {
            let address = public.parse().expect("an address");
            assert!(!is_private(address), "{public}");
        }
    }
}
