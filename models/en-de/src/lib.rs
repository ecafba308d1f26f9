//! The English-German model that is built into `abridge`, as bytes. Its card is the README beside it.

#![forbid(unsafe_code)]

/// What commands call it.
pub const NAME: &str = "en-de";

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_bytes!(concat!("../", $name)))),*]
    };
}

/// Names and contents of the files of the model directory.
pub const FILES: &[(&str, &[u8])] = files![
    "MANIFEST.json",
    "config.toml",
    "model.safetensors",
    "shortlist.json",
    "tokenizer.source.json",
    "tokenizer.target.json",
];
