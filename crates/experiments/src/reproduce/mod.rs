//! The paper's tables, run again: a grid of cells, each trained, translated and scored once.
//!
//! | file | what |
//! | --- | --- |
//! | [`paper`] | the published figures, as data |
//! | [`table`] | which cells and metrics a table has |
//! | [`numbered`] | tables and figures by their numbers in the paper |
//! | [`sweep`] | fields of the recipe that are varied |
//! | [`scale`] | how large the networks are |
//! | [`data`] | what they are trained and tested on |
//! | [`cell`] | one model at one context size with one seed, kept by the hash of what went in |
//! | [`run`] | a table from its settings to its results |
//! | [`grid`] | runs cells until they are done or the budget is spent |
//! | [`measure`] | cells that need no training |
//! | [`comet`] | COMET of cells that are done |
//! | `memory`, `examples`, `kept_tokens` | Figure 5, Table 10, and Figures 4, 6 and 7 |
//! | [`results`] | ours beside the paper's, over seeds |
//! | [`report`], [`page`] | Markdown, CSV and HTML |

pub mod cell;
pub mod comet;
pub mod data;
mod examples;
pub mod grid;
mod kept_tokens;
pub mod measure;
mod memory;
pub mod numbered;
pub mod page;
pub mod paper;
pub mod report;
pub mod results;
pub mod run;
pub mod scale;
pub mod sweep;
pub mod table;
