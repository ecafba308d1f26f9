//! One small file per command.

pub mod evaluate;
