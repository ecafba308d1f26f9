//! Tokens for display.

use abridge_corpus::Tokenizer;
use abridge_model::tokens::END;

/// A token for display: a piece within a word begins with a dot, and the end of a sentence has a
/// name.
pub(super) fn shown(tokenizer: &Tokenizer, token: u32) -> String {
    if token == END {
        return "⟨end⟩".into();
    }
    let piece = tokenizer.piece(token).unwrap_or("⁇");
    match piece.strip_prefix('▁') {
        Some("") => "▁".into(),
        Some(word) => word.to_owned(),
        None if piece.starts_with(char::is_alphanumeric) => format!("·{piece}"),
        None => piece.to_owned(),
    }
}

/// All tokens of a sentence.
pub(super) fn all_shown(tokenizer: &Tokenizer, tokens: &[u32]) -> Vec<String> {
    tokens.iter().map(|&token| shown(tokenizer, token)).collect()
}
