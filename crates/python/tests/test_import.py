"""Models of other toolkits: results equal those of their own tools, which made the fixtures."""

from __future__ import annotations

import json
import pathlib

import pytest
from conftest import COMET, CRATES, comet_model

import abridge

MARIAN = CRATES / "translate" / "tests" / "fixtures" / "marian-mt"


def test_an_imported_model_translates(tmp_path: pathlib.Path) -> None:
    imported = abridge.import_model(MARIAN, tmp_path / "model")
    assert imported == tmp_path / "model"
    with pytest.raises(abridge.Error, match="model"):
        abridge.import_model(MARIAN, imported)
    translator = abridge.Translator(imported)
    assert translator.target_languages == ["fra", "rus"]
    with pytest.raises(abridge.ConfigError, match="fra, rus"):
        translator.translate(["Where is it?"])
    french = abridge.Translator(imported, to="fra").translate(["Where is it?"], max_length=12)
    assert french[0].text == translator.translate([">>fra<< Where is it?"], max_length=12)[0].text
    for case in json.loads((MARIAN / "expected.json").read_text()):
        # Without a target language transformers picks one; abridge asks for it.
        if case["text"].startswith(">>"):
            search = next(found for found in case["searches"] if found["settings"] == {"num_beams": 4})
            (found,) = translator.translate([case["text"]], min_length=0)
            assert found.text == search["text"], "searched as generation_config.json says"
            assert found.score == pytest.approx(search["score"], abs=1e-4)


def test_comet(tmp_path: pathlib.Path) -> None:
    model = comet_model(tmp_path / "comet")
    expected = json.loads((COMET / "expected.json").read_text())
    sources, hypotheses, references = (
        [sample[side] for sample in expected["samples"]] for side in ("source", "hypothesis", "reference")
    )
    counts: list[int] = []
    found = abridge.evaluate.comet(model, sources, hypotheses, references, progress=counts.append)
    assert found.sentences == pytest.approx(expected["variants"]["sparsemax"]["scores"], abs=1e-4)
    assert found.score == pytest.approx(sum(found.sentences) / len(found.sentences))
    assert sum(counts) == len(sources)
    with pytest.raises(abridge.ConfigError, match="as many of each"):
        abridge.evaluate.comet(model, sources, hypotheses, references[:-1])
