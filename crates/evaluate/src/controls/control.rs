//! The controls by name.

use std::fmt;
use std::str::FromStr;

use abridge_corpus::{Error, Result};
use serde::{Deserialize, Serialize};

/// What is done to the context of every example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Control {
    /// There is no context.
    None,
    /// The same number of consecutive sentences from another document.
    Random,
    /// The same sentences in another order.
    Shuffled,
    /// The same sentences in mirrored slots: the nearest in the slot of the furthest.
    Mirrored,
    /// Only the k-th sentence back, in its own slot.
    Only(usize),
}

impl Control {
    /// Whether its contexts are drawn at random, so that another draw gives another result.
    pub(crate) fn is_drawn(self) -> bool {
        self == Self::Random
    }

    /// All controls of a context size, except those that change nothing at size 1.
    pub fn all(context: usize) -> Vec<Self> {
        match context {
            0 => Vec::new(),
            1 => vec![Self::None, Self::Random],
            _ => [Self::None, Self::Random, Self::Shuffled, Self::Mirrored]
                .into_iter()
                .chain((1..=context).map(Self::Only))
                .collect(),
        }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Random => f.write_str("random"),
            Self::Shuffled => f.write_str("shuffled"),
            Self::Mirrored => f.write_str("mirrored"),
            Self::Only(back) => write!(f, "only-{back}"),
        }
    }
}

impl FromStr for Control {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "none" => Ok(Self::None),
            "random" => Ok(Self::Random),
            "shuffled" => Ok(Self::Shuffled),
            "mirrored" => Ok(Self::Mirrored),
            _ => match name.strip_prefix("only-").and_then(|back| back.parse().ok()) {
                Some(back) if back > 0 => Ok(Self::Only(back)),
                _ => Err(Error::new(format!("`{name}` is not a control"))
                    .remedy("choose one of none, random, shuffled, mirrored, only-1, only-2, …")),
            },
        }
    }
}

impl From<Control> for String {
    fn from(control: Control) -> Self {
        control.to_string()
    }
}

impl TryFrom<String> for Control {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        name.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for control in Control::all(3) {
            assert_eq!(control.to_string().parse::<Control>().unwrap(), control);
        }
        assert_eq!(Control::all(1), [Control::None, Control::Random]);
        assert!("only-0".parse::<Control>().is_err());
    }
}
