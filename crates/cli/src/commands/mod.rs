//! One small file per command.

pub mod practice;
pub mod prepare;
