"""Translating: whole documents, sentence by sentence, from files."""

from __future__ import annotations

import gc
import io
import pathlib
import shutil
from typing import Any

import numpy as np
import pytest
from conftest import RECIPE
from tqdm import tqdm

import abridge

SHORT: dict[str, Any] = {"max_length": 12, "beam": 2}


def texts(translations: list[abridge.Translation]) -> list[str]:
    return [translation.text for translation in translations]


def test_every_way_gives_the_same(translator: abridge.Translator, document: list[str]) -> None:
    whole = translator.translate(document, **SHORT)
    assert len(whole) == len(document)
    assert str(whole[0]) == whole[0].text
    session = translator.session()
    assert texts([session.translate(s, **SHORT) for s in document]) == texts(whole)
    assert [str(t) for t in translator.stream(iter(document), **SHORT)] == texts(whole)
    both = translator.translate_documents([document, document[:2]], **SHORT)
    assert texts(both[0]) == texts(whole)
    assert texts(both[1]) == texts(whole)[:2]


def test_a_session_is_saved_and_goes_on(translator: abridge.Translator, document: list[str]) -> None:
    session = translator.session()
    for sentence in document[:3]:
        session.translate(sentence, **SHORT)
    assert len(session) == 2 and session.sentences == 3 and session.context_size == 2
    saved = session.save()
    expected = session.translate(document[3], **SHORT).text
    assert translator.restore(saved).translate(document[3], **SHORT).text == expected
    session.restore(saved)
    assert session.translate(document[3], **SHORT).text == expected
    session.clear()
    assert len(session) == 0 and session
    alone = translator.translate([document[3]], **SHORT)[0].text
    assert session.translate(document[3], **SHORT).text == alone
    with pytest.raises(abridge.Error, match="checksum"):
        translator.restore(saved[:-1] + bytes([saved[-1] ^ 1]))


def test_a_stream_begins_documents_anew(translator: abridge.Translator, document: list[str]) -> None:
    found = list(translator.stream([document[0], None, document[1]], **SHORT))
    assert found[1] is None
    assert str(found[2]) == translator.translate([document[1]], **SHORT)[0].text


def test_hypotheses_have_scores_and_arrays(translator: abridge.Translator, document: list[str]) -> None:
    translation = translator.translate(document[:1], beam=4, n_best=3, max_length=12)[0]
    scores = [hypothesis.score for hypothesis in translation.hypotheses]
    assert len(scores) == 3 and scores == sorted(scores, reverse=True)
    best = translation.hypotheses[0]
    assert best.text == translation.text and best.score == translation.score
    assert best.ids.dtype == np.uint32 and best.token_scores.dtype == np.float32
    assert len(best.tokens) == len(best.ids) == len(best.token_scores)
    assert best.tokens[-1] == "</s>"
    # With a length penalty of 1 the score is the mean over words and end.
    assert best.score == pytest.approx(float(best.token_scores.mean()), abs=1e-4)


def test_arrays_are_views(translator: abridge.Translator, document: list[str]) -> None:
    best = translator.translate(document[:1], **SHORT)[0].hypotheses[0]
    session = translator.session()
    session.translate(document[0], **SHORT)
    (memory,) = session.memory()
    (score,) = translator.score(document[0], ["Nein."])
    for thing, name in [
        (best, "ids"),
        (best, "token_scores"),
        (score, "token_scores"),
        (memory, "entry"),
        (memory, "group_weights"),
    ]:
        array = getattr(thing, name)
        assert np.shares_memory(array, getattr(thing, name)), f"{name} is copied"
        assert not array.flags.writeable
    # They keep what they refer to alive.
    scores = best.token_scores
    kept = scores.copy()
    del best
    gc.collect()
    translator.translate(document, **SHORT)
    assert (scores == kept).all()


def test_models_are_searched_as_their_makers_do(
    model: pathlib.Path, document: list[str], tmp_path: pathlib.Path
) -> None:
    greedy = tmp_path / "model"
    shutil.copytree(model, greedy)
    (greedy / "search.toml").write_text("beam = 1\nmax_length = 4\n")
    translator = abridge.Translator(greedy)
    found = translator.translate(document)
    assert all(len(translation.hypotheses[0].tokens) <= 5 for translation in found)
    assert texts(found) == texts(abridge.Translator(model).translate(document, beam=1, max_length=4))
    assert len(translator.translate(document[:1], max_length=9, min_length=9)[0].hypotheses[0].ids) == 10


def test_sampling_depends_on_the_seed_alone(translator: abridge.Translator, document: list[str]) -> None:
    def draw(seed: int) -> list[str]:
        return texts(translator.translate(document, sample=True, temperature=2.0, seed=seed, max_length=12))

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


def test_a_prefix_is_kept(translator: abridge.Translator, document: list[str]) -> None:
    translation = translator.translate(document[:1], prefix="Anna", **SHORT)[0]
    assert translation.text.startswith("Anna")


def test_attention_over_the_memory(translator: abridge.Translator, document: list[str]) -> None:
    attention = translator.translate(document[:3], attention=True, **SHORT)[2].attention
    assert attention is not None
    assert all(s < len(attention.source) and t < len(attention.target) for s, t in attention.alignment)
    memory = attention.memory()
    assert {sentence.distance for sentence in memory} <= {0, 1, 2}
    for sentence in memory:
        assert not sentence.is_translation, "this model remembers sources only"
        assert sentence.attention.shape == (len(attention.target), len(sentence.words))
        assert sentence.entry_attention.shape == (len(attention.target), 9)
        for weights in (sentence.attention, sentence.entry_attention):
            assert (weights >= 0).all() and weights.max() <= 1.0001
        # The weight of a row is distributed over tokens, one of which is the end and no word.
        words, rows = sentence.attention.sum(axis=1), sentence.entry_attention.sum(axis=1)
        assert (words <= rows + 1e-5).all()
    # The context attention of each target word adds up to one.
    total = sum(sentence.entry_attention.sum(axis=1) for sentence in memory)
    assert np.allclose(total, 1.0, atol=1e-4)
    assert translator.translate(document[:1], **SHORT)[0].attention is None


def test_attention_to_remembered_translations(
    data: pathlib.Path, document: list[str], tmp_path: pathlib.Path
) -> None:
    settings = {"model.change.target_context": True, "stop.max_updates": 1}
    trained = abridge.train(RECIPE, data, tmp_path / "run", settings=settings, workers=1)
    translations = abridge.Translator(trained.model).translate(document[:3], attention=True, **SHORT)
    attention = translations[2].attention
    assert attention is not None
    memory = attention.memory()
    found = [(sentence.distance, sentence.is_translation) for sentence in memory]
    assert found == [(0, False), (1, False), (1, True), (2, False), (2, True)]
    assert memory[1].words == document[1].split()
    assert memory[2].words == translations[1].text.split()


def test_the_memory_of_a_session(translator: abridge.Translator, document: list[str]) -> None:
    session = translator.session()
    session.translate(document[0], **SHORT)
    (memory,) = session.memory()
    assert memory.tokens[-1] == "</s>"
    assert memory.entry is not None and memory.entry.shape == (9, 16)
    assert memory.group_weights is not None
    assert memory.group_weights.shape == (len(memory.tokens), 9)
    # Latent Grouping distributes each token over the groups.
    assert np.allclose(memory.group_weights.sum(axis=1), 1.0, atol=1e-5)


def test_scores_report_progress(translator: abridge.Translator) -> None:
    counts: list[int] = []
    translator.score("It was old.", ["Es war alt."] * 300, progress=counts.append)
    assert sum(counts) == 300


def test_files_keep_their_format(translator: abridge.Translator, tmp_path: pathlib.Path) -> None:
    source, target = tmp_path / "film.srt", tmp_path / "film.de.srt"
    source.write_text("1\n00:00:01,000 --> 00:00:02,000\nIt was old.\n")
    content = translator.translate_file(source, target, **SHORT)
    assert target.read_bytes() == content
    assert b"00:00:01,000 --> 00:00:02,000" in content
    with pytest.raises(TypeError, match="n_best"):
        translator.translate_file(source, n_best=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="sample"):
        translator.inspect(["It was old."], sample=True)  # type: ignore[call-arg]


def test_progress_counts_every_sentence(translator: abridge.Translator, document: list[str]) -> None:
    counts: list[int] = []
    translator.translate(document, progress=counts.append, **SHORT)
    assert sum(counts) == len(document)


def test_progress_goes_to_tqdm(translator: abridge.Translator, document: list[str]) -> None:
    with tqdm(total=len(document), file=io.StringIO()) as bar:
        translator.translate_documents([document], progress=bar.update, **SHORT)
        assert bar.n == len(document)


def test_nothing_gives_nothing(translator: abridge.Translator) -> None:
    assert translator.translate([]) == []
    assert translator.translate_documents([[], []]) == [[], []]
    assert texts(translator.translate(["", "  "])) == ["", ""]


def test_scores_add_up(translator: abridge.Translator, document: list[str]) -> None:
    one, other = translator.score(document[1], ["Nein.", "Ja."], context=document[:1])
    for score in (one, other):
        assert score.sum == pytest.approx(float(score.token_scores.sum()), abs=1e-3)
        assert score.mean == pytest.approx(score.sum / len(score.token_scores))
    assert one.sum != other.sum


def test_a_model_says_what_it_is(translator: abridge.Translator, model: pathlib.Path) -> None:
    assert translator.context_size == 2 and translator.threads == 2
    assert translator.languages == ("en", "de")
    assert len(translator.hash) == 64 and str(translator.path) == str(model)
    assert "Translator" in repr(translator)


def test_the_built_in_model_needs_no_path(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABRIDGE_MODELS", str(tmp_path))
    translator = abridge.Translator()
    assert translator.languages == ("en", "de")
    assert tmp_path in translator.path.parents
    assert "Vielen Dank" in translator.translate(["Thank you very much."])[0].text
    assert abridge.Translator("en-de").hash == translator.hash
    with pytest.raises(abridge.ModelError, match="no such model directory or installed model"):
        abridge.Translator("xx-yy")
