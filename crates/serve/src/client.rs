//! Whom a request is for, and how much of the server that client may take.

use std::net::{IpAddr, Ipv6Addr};

/// A key, or an address where no keys are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    /// What tells it from others; sessions belong to it.
    pub id: String,
    /// Whether it may take only a part of what there is. Requests from this machine itself without a
    /// key are one user's, or a proxy's, and may take all of it.
    pub is_limited: bool,
    /// Whether it showed a key. Its sessions are its own then; an address owns nothing, because it may change
    /// and many may share it.
    pub has_key: bool,
}

/// What the ids of clients without a key begin with.
pub(crate) const ADDRESS: &str = "address ";

impl Client {
    /// A client by its address; by the first half of it where one machine has as many as it likes.
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

    /// Whether a session of this owner may be used by the client.
    pub fn may_use(&self, owner: &str) -> bool {
        owner == self.id || !self.has_key && owner.starts_with(ADDRESS)
    }

    /// As much of a limit as this client may take: one part of `parts`, and at least one.
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
