//! Translations over HTTP, with a memory per document.
