"""Inspection: arrays and pictures."""

from __future__ import annotations

import numpy as np
import pytest

import abridge


def test_arrays_and_pictures(translator: abridge.Translator) -> None:
    sentences = ["The <lamp> is old.", "It is broken."]
    seen = translator.inspect(sentences, ["Die Lampe ist alt.", "Sie ist kaputt."])
    assert len(seen) == 2 and seen[1].translation == "Sie ist kaputt."
    sentence = seen[-1]
    assert sentence.group_weights is not None
    assert sentence.group_weights.shape == (len(sentence.source_tokens), 9)
    before = next(context for context in sentence.context if context.distance == 1)
    assert before.attention.shape == (len(sentence.target_tokens), len(before.tokens))
    assert before.entry_attention.shape == (len(sentence.target_tokens), 9)
    assert before.influence.shape[0] == len(sentence.target_tokens)
    assert np.isfinite(before.influence).all()
    for distance, word, nats in sentence.deciding(0):
        assert distance == 1 and isinstance(word, str) and nats > 0
    assert "<svg" in sentence._repr_html_()
    page = seen._repr_html_()
    assert page.startswith("<iframe") and "&lt;lamp" in seen.html() and "<lamp>" not in page
    with pytest.raises(IndexError):
        seen[2]
    with pytest.raises(abridge.ConfigError, match="2 sentences, but 1 translations"):
        translator.inspect(sentences, ["Die Lampe ist alt."])
