//! What abridge asks of the machine itself, behind safe functions.
//!
//! This is the only crate of abridge with `unsafe` in it; all others forbid it. Everything here is
//! small, knows nothing of translation, and checks at its border what it needs inside:
//!
//! | module | what is `unsafe` | what makes it sound |
//! | --- | --- | --- |
//! | [`instructions`] | to run a loop that was compiled for instructions that not every processor has | the processor is asked before |
//! | [`product`] | the `gemm` crate takes pointers | a [`product::Matrix`] lies inside its slice, which is checked when it is made |
//! | [`int8`], [`half`] | such instructions; loads and stores by address | the processor is asked before; only arrays of the right size are loaded and stored |
//! | [`bf16`] | instructions that the compiler does not know, as assembly; loads and stores by address | a [`bf16::Bf16Unit`] proves that they are there; lengths are compared before |
//! | [`mod@file`] | a mapped file can change | ours are replaced as a whole, never written in place |
//! | [`allocator`] | an allocator; two functions of the C library | everything is handed on to the system's allocator |
//!
//! Property tests here and in `abridge-model` compare each product with the sum that it stands for,
//! over random shapes, strides and empty matrices.

#![allow(unsafe_code, reason = "it is what this crate is for")]

pub mod allocator;
pub mod bf16;
pub mod file;
pub mod half;
pub mod instructions;
pub mod int8;
pub mod memory;
pub mod product;

pub use instructions::{AHEAD, CACHE_LINE, Instructions, prefetch, vectorised};
