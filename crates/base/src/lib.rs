//! What corpus and model both need, once: no tensors and no file formats.

#![forbid(unsafe_code)]
