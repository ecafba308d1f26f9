//! Low-level code, behind safe functions.
//!
//! This is the only crate of abridge with `unsafe` code; all others forbid it. Everything here is
//! small, independent of translation, and checks its preconditions at its interface:
//!
//! | module | what is `unsafe` | what makes it sound |
//! | --- | --- | --- |
//! | [`instructions`] | loops compiled for instructions that not every processor has | the
//! processor is checked first |
//! | [`product`] | the `gemm` crate takes pointers | a [`product::Matrix`] lies inside its slice, which is checked when it is made |
//! | [`int8`], [`half`] | such instructions; loads and stores by address | the processor is checked
//! first; only arrays of the right size are loaded and stored | | [`bf16`] | inline assembly for
//! instructions without intrinsics; loads and stores by address | a [`bf16::Bf16Unit`] proves that
//! the instructions exist; lengths are checked first |
//! | [`mod@file`] | a mapped file can change | ours are replaced as a whole, never written in place |
//! | [`allocator`] | an allocator; two functions of the C library | every call is forwarded to the
//! system's allocator |
//! | [`crash`] | signal handlers | the handler calls only what is allowed in one |
//!
//! Property tests here and in `abridge-model` compare each product with a plain sum of products,
//! over random shapes, strides and empty matrices.

#![allow(unsafe_code, reason = "this crate wraps all unsafe code")]

pub mod allocator;
pub mod bf16;
pub mod crash;
pub mod file;
pub mod half;
pub mod instructions;
pub mod int8;
pub mod memory;
pub mod product;

pub use instructions::{AHEAD, CACHE_LINE, Instructions, prefetch, vectorised};
