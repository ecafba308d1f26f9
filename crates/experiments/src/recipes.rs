//! The built-in recipes.
//!
//! `recipes/` of this crate links to those of the repository, so that the crate is complete when it
//! is packaged on its own.

/// A tiny network on the practice corpus.
pub const PRACTICE: &str = include_str!("../recipes/practice.toml");
/// Networks for a machine without a GPU.
pub const SMALL: &str = include_str!("../recipes/small/base.toml");
/// The paper's English-German networks.
pub const EN_DE: &str = include_str!("../recipes/en-de/base.toml");
/// The paper's English-French networks.
pub const EN_FR: &str = include_str!("../recipes/en-fr/base.toml");
/// The paper's English-German data.
pub const IWSLT_EN_DE: &str = include_str!("../recipes/iwslt17-en-de.toml");
/// The paper's English-French data.
pub const IWSLT_EN_FR: &str = include_str!("../recipes/iwslt17-en-fr.toml");
