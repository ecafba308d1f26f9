//! Contrastive sets from any parallel documents: a pronoun of the translation is swapped for others.
//!
//! An example is a sentence whose source has an ambiguous word (*it*), whose translation has one of
//! a group of words (*er*, *sie*, *es*), and in which nothing else would have to change with
//! another word of the group. A [`SwapTable`] defines the words and what rules a sentence out. No
//! parser is used, so the rules are strict: they discard many good sentences.

mod find;
mod make;
mod seen;
mod table;

pub use make::{Made, MakeSettings, make};
pub use seen::SeenSentences;
pub use table::{Swap, SwapTable};
