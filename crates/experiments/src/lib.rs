//! Experiments: the paper's tables reproduced, the demo, and the cost and scores of a training run.
//!
//! | module | what |
//! | --- | --- |
//! | [`reproduce`] | a grid of cells, each trained, translated and scored once |
//! | [`demo`] | two tiny models side by side, with and without context |
//! | [`validation`] | BLEU and contrastive accuracy during training |
//! | [`estimate`] | the data, memory and time of a recipe |
//! | [`observer`] | is told the progress of an experiment |
//! | [`failure`] | the kind and the message of an error, for every program |
//!
//! Nothing here prints: progress goes to an [`observer::Observer`], results are returned.

#![forbid(unsafe_code)]
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod bench;
pub mod demo;
pub mod estimate;
pub mod failure;
pub mod observer;
pub mod recipes;
pub mod reproduce;
pub mod validation;
