//! Experiments: the paper's tables run again, the demo, and what a training run costs and reaches.
//!
//! | module | what |
//! | --- | --- |
//! | [`reproduce`] | a grid of cells, each trained, translated and scored once |
//! | [`demo`] | two tiny models side by side, with and without context |
//! | [`validation`] | BLEU and contrastive accuracy during training |
//! | [`estimate`] | what a recipe would train, and its memory and time |
//! | [`observer`] | hears how an experiment goes |
//!
//! Nothing here prints: what happens goes to an [`observer::Observer`], what came out is returned.

#![forbid(unsafe_code)]
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod bench;
pub mod demo;
pub mod estimate;
pub mod observer;
pub mod recipes;
pub mod reproduce;
pub mod validation;
