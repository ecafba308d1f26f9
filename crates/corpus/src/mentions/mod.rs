//! Training documents in which only a sentence before tells the gender of a pronoun.
//!
//! Sentences of that kind are rare in real text, so a memory learns slowly what it is for. But a
//! sentence-level model knows more than it shows: with the noun in the sentence it translates *The
//! house was built in 1900* as *A casa foi construída em 1900*, and only with a pronoun in its place,
//! *It was built in 1900*, it has to guess (*Foi construído*). So a document is made of three parts:
//!
//! 1. an English sentence that begins with a noun, from any text ([`Candidate`]), with the pronoun in
//!    place of the noun;
//! 2. before it, another sentence of the text that has the noun;
//! 3. the model's own translation of the sentence with the pronoun, with the gender that it gave the
//!    sentence with the noun ([`GenderTable::corrected`]).
//!
//! There is nothing else to learn in them, no style and no words, and as many documents of each
//! gender are made ([`balanced`]), so guessing does not help either.

mod candidates;
mod corrected;
mod english;
mod table;

pub use candidates::{Candidate, CandidateSettings, candidates, windows};
pub use corrected::{Corrected, balanced};
pub use table::{Gender, GenderTable};
