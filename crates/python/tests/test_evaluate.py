"""Metrics equal sacreBLEU's; models are measured in rows that data frames take."""

from __future__ import annotations

import pathlib
import warnings
from typing import Literal

import pandas as pd
import polars as pl
import pytest
import sacrebleu
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

import abridge
from abridge import evaluate

HYPOTHESES = ["The cat sat on a mat.", "It slept all day", "Nobody saw the quick, brown fox!"]
REFERENCES = ["The cat sat on the mat.", "It slept the whole day.", "No one saw the quick brown fox."]
OTHERS = ["A cat was sitting on the mat.", "It was asleep all day.", "The quick brown fox went unseen."]


@pytest.mark.parametrize("streams", [[REFERENCES], [REFERENCES, OTHERS]])
def test_scores_and_signatures_are_sacrebleus(streams: list[list[str]]) -> None:
    references = streams[0] if len(streams) == 1 else streams
    international = evaluate.bleu(HYPOTHESES, references, tokenize="intl", lowercase=True)
    for ours, theirs in [
        (evaluate.bleu(HYPOTHESES, references), BLEU()),
        (international, BLEU(tokenize="intl", lowercase=True)),
        (evaluate.chrf(HYPOTHESES, references), CHRF()),
        (evaluate.chrf(HYPOTHESES, references, word_order=2), CHRF(word_order=2)),
        (evaluate.ter(HYPOTHESES, references), TER()),
    ]:
        expected = theirs.corpus_score(HYPOTHESES, streams)
        assert ours.score == pytest.approx(expected.score, abs=1e-6)
        assert float(ours) == ours.score
        # The version of sacreBLEU that is installed may be a newer one.
        signature = theirs.get_signature().format().split("|version")[0]
        assert ours.signature.split("|version")[0] == signature


def test_sentence_scores() -> None:
    scores = evaluate.chrf(HYPOTHESES, REFERENCES).sentences
    expected = [sacrebleu.sentence_chrf(h, [r]).score for h, r in zip(HYPOTHESES, REFERENCES)]
    assert scores == pytest.approx(expected, abs=1e-6)


def test_significance() -> None:
    found = evaluate.compare(HYPOTHESES * 20, REFERENCES * 20, REFERENCES * 20, samples=100)
    assert found.system == pytest.approx(100.0) and found.difference > 0
    assert 0 < found.p_value < 0.05
    tests: list[Literal["bootstrap", "randomization"]] = ["bootstrap", "randomization"]
    for test in tests:
        counts: list[int] = []
        evaluate.compare(HYPOTHESES, REFERENCES, REFERENCES, test=test, samples=100, progress=counts.append)
        assert sum(counts) == 100
    with pytest.raises(abridge.ConfigError, match="1 to 10000000 samples"):
        evaluate.compare(HYPOTHESES, REFERENCES, REFERENCES, samples=2**63)
    with pytest.raises(abridge.ConfigError, match="comet"):
        evaluate.compare(HYPOTHESES, HYPOTHESES, REFERENCES, metric="comet")  # type: ignore[arg-type]
    with pytest.raises(abridge.DataError):
        evaluate.bleu(HYPOTHESES, REFERENCES[:2])


def test_contrastive_accuracy(translator: abridge.Translator, data: pathlib.Path) -> None:
    counts: list[int] = []
    found = abridge.contrast(translator, data / "text" / "contrastive.json", progress=counts.append)
    assert sum(counts) == len(found.items) == 720
    frame = pd.DataFrame(found.rows)
    everything = frame[frame["part"] == "all"].iloc[0]
    assert everything["items"] == 720 and everything["accuracy"] == pytest.approx(found.accuracy)
    assert sum(item["right"] for item in found.items) == everything["correct"]
    assert pl.DataFrame(found.rows).height == len(frame)
    assert "context:2" in found.signature
    for items in (pd.DataFrame(found.items), pl.DataFrame(found.items)):
        for column in ("source", "candidates", "scores", "right"):
            assert items[column].to_list() == [item[column] for item in found.items]


def test_more_context_than_in_training(
    translator: abridge.Translator, model: pathlib.Path, data: pathlib.Path
) -> None:
    file = data / "text" / "contrastive.json"
    with pytest.warns(UserWarning, match=f"{model.name} was trained to look 2 sentences back; it has not"):
        assert "context:3" in abridge.contrast(translator, file, context_size=3).signature
    pairs = [("The lamp is old.", "Die Lampe ist alt."), ("It is red.", "Sie ist rot.")] * 2
    with pytest.warns(UserWarning, match="was trained to look 2 sentences back"):
        more = abridge.cxmi(translator, [pairs, pairs], context_size=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trained = abridge.cxmi(translator, [pairs, pairs], context_size=2)
    assert len(more.rows) == len(trained.rows) == 6
    assert more.rows[2]["gain"] != trained.rows[2]["gain"], "the third sentence back is seen"
    with pytest.raises(abridge.ConfigError, match="at least 1"):
        abridge.cxmi(translator, [pairs, pairs], context_size=0)


def test_cxmi(translator: abridge.Translator, data: pathlib.Path) -> None:
    text = data / "text"
    sources = (text / "test.en").read_text().splitlines()[:30]
    references = (text / "test.de").read_text().splitlines()[:30]
    pairs = list(zip(sources, references))
    documents = [pairs[:5], pairs[5:15], pairs[15:]]
    found = abridge.cxmi(translator, documents)
    # The first sentence of a document has no context.
    assert [row["sentence"] for row in found.rows][:4] == [2, 3, 4, 5]
    assert len(found.rows) == 27
    assert found.per_sentence == pytest.approx(sum(row["gain"] for row in found.rows) / 27)
    for row in found.rows:
        assert len(row["words"]) == len(row["word_gains"]) == len(row["random_words"])
    languages = [[{"en": source, "de": reference} for source, reference in part] for part in documents]
    assert abridge.cxmi(translator, languages).rows == found.rows
    for rows, column in [(found.rows, "gain"), (found.words, "total")]:
        for frame in (pd.DataFrame(rows), pl.DataFrame(rows)):
            assert list(frame.columns) == list(rows[0])
            assert frame[column].to_list() == [row[column] for row in rows]
    words = pl.DataFrame(found.rows)
    assert words.schema["words"] == pl.List(pl.String) and words.schema["word_gains"] == pl.List(pl.Float64)
