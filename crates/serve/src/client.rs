//! The client of a request, and its share of each limit.

use std::net::{IpAddr, Ipv6Addr};

/// A client: a key, or an address if no keys are required.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    /// Identifies the client; sessions belong to it.
    pub id: String,
    /// Whether it may take only a part of each limit. Requests without a key from this machine come
    /// from one user or a proxy, and may take all of it.
    pub is_limited: bool,
    /// Whether it presented a key. Only then are its sessions private: addresses may change and be
    /// shared.
    pub has_key: bool,
}

/// The prefix of the ids of clients without a key.
pub(crate) const ADDRESS: &str = "address ";

impl Client {
    /// A client by its address, or by the /64 prefix of an IPv6 address, of which one machine may
    /// have any number.
    pub fn at(address: IpAddr) -> Self {
        let address = address.to_canonical();
        let is_limited = !address.is_loopback();
        let address = match address {
            IpAddr::V6(long) if is_limited => {
                IpAddr::V6(Ipv6Addr::from_bits(long.to_bits() >> 64 << 64))
            }
            address => address,
        };
        Self { id: format!("{ADDRESS}{address}"), is_limited, has_key: false }
    }

    /// A client by its key.
    pub fn with_key(id: &str) -> Self {
        Self { id: id.to_owned(), is_limited: true, has_key: true }
    }

    /// Whether the client may use a session of this owner.
    pub fn may_use(&self, owner: &str) -> bool {
        owner == self.id || !self.has_key && owner.starts_with(ADDRESS)
    }

    /// The client's share of a limit: `limit / parts`, and at least one.
    pub fn part_of(&self, limit: usize, parts: usize) -> usize {
        if self.is_limited { (limit / parts).max(limit.min(1)) } else { limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_may_take_everything() {
        let (here, there) = (Client::at([127, 0, 0, 1].into()), Client::at([192, 0, 2, 1].into()));
        assert_eq!([here.part_of(64, 2), there.part_of(64, 2)], [64, 32]);
        assert_eq!([there.part_of(1, 4), there.part_of(0, 4)], [1, 0]);
        let at = |address: &str| Client::at(address.parse().unwrap());
        assert!(!at("::1").is_limited && !at("::ffff:127.0.0.1").is_limited);
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:1"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_eq!(at("::ffff:192.0.2.1"), there);
    }

    #[test]
    fn a_session_belongs_to_its_key() {
        let (mine, yours) = (Client::with_key("key mine"), Client::with_key("key yours"));
        let nobody = Client::at([192, 0, 2, 1].into());
        assert!(mine.may_use("key mine") && !yours.may_use("key mine"));
        assert!(!nobody.may_use("key mine") && !mine.may_use(&nobody.id));
        assert!(nobody.may_use("address 192.0.2.7") && !nobody.may_use(""));
    }
}
