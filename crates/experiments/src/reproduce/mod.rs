//! The paper's tables, reproduced: a grid of cells, each trained, translated and scored once.
//!
//! | file | what |
//! | --- | --- |
//! | [`paper`] | the published figures, as data |
//! | [`table`] | which cells and metrics a table has |
//! | [`numbered`] | tables and figures by their numbers in the paper |
//! | [`sweep`] | varied fields of the recipe |
//! | [`scale`] | the sizes of the networks |
//! | [`data`] | training and test data |
//! | [`cell`] | one model at one context size with one seed, stored under the hash of its inputs |
//! | [`run`] | a table from its settings to its results |
//! | [`grid`] | runs cells until they are done or the budget is spent |
//! | [`measure`] | cells that need no training |
//! | [`comet`] | COMET of finished cells |
//! | `memory`, `examples`, `kept_tokens` | Figure 5, Table 10, and Figures 4, 6 and 7 |
//! | [`results`] | our results and the paper's, over seeds |
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
