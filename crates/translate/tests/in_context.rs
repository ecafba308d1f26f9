//! A sentence with a given context is translated as in its document.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use abridge_model::Preset;
use abridge_translate::InContext;
use common::{document, settings, translator};

#[test]
fn a_sentence_in_context_is_as_in_its_document() {
    for preset in [Preset::Grouping, Preset::CachingTokens, Preset::SingleEncoder] {
        let translator = translator(preset, 2);
        let text = document(5, 8);
        let whole = translator
            .translate_documents(std::slice::from_ref(&text), &settings(), &|_| {})
            .unwrap()
            .remove(0);
        let requests: Vec<InContext<'_>> = (0..text.len())
            .map(|place| InContext { source: &text[place], context: &text[..place], shown: None })
            .collect();
        let found = translator.translate_in_context(&requests, &settings()).unwrap();
        assert_eq!(found, whole, "{preset}");

        // With its real context, and with empty slots, as if it had none.
        let shown = [[Some(1), Some(0)], [None, None]];
        let request = |shown| InContext { source: &text[2], context: &text[..2], shown };
        let both = [request(Some(&shown[0][..])), request(Some(&shown[1]))];
        let both = translator.translate_in_context(&both, &settings()).unwrap();
        let alone = InContext { source: &text[2], context: &[], shown: None };
        let alone = translator.translate_in_context(&[alone], &settings()).unwrap();
        assert_eq!(both, [whole[2].clone(), alone[0].clone()], "{preset}");

        // Indices count from the first given sentence, even if not all fit into the memory.
        let shown = [Some(3), Some(2)];
        let last = InContext { source: &text[4], context: &text[..4], shown: Some(&shown) };
        let last = translator.translate_in_context(&[last], &settings()).unwrap();
        assert_eq!(last[0], whole[4], "{preset}");
    }
}
