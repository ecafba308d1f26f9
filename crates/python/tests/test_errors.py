"""What is refused, with which exception and which message. No panic reaches Python."""

from __future__ import annotations

import pathlib
import shutil
from typing import Any

import pytest

import abridge


def test_exceptions_are_a_family() -> None:
    for kind in (abridge.DataError, abridge.ModelError, abridge.ConfigError, abridge.InternalError):
        assert issubclass(kind, abridge.Error) and issubclass(kind, Exception)


def test_a_directory_that_is_no_model(tmp_path: pathlib.Path) -> None:
    with pytest.raises(abridge.ModelError, match="nowhere"):
        abridge.Translator(tmp_path / "nowhere")
    with pytest.raises(abridge.ModelError):
        abridge.Translator(tmp_path)


@pytest.mark.parametrize("keep", [0, 1, 7, 8, 9, 0.5, -1])
def test_damaged_weights(model: pathlib.Path, tmp_path: pathlib.Path, keep: float) -> None:
    damaged = tmp_path / "model"
    shutil.copytree(model, damaged)
    weights = damaged / "model.safetensors"
    content = weights.read_bytes()
    end = int(len(content) * keep) if isinstance(keep, float) else keep
    weights.write_bytes(content[:end])
    with pytest.raises(abridge.ModelError, match="model.safetensors"):
        abridge.Translator(damaged)


def test_a_flipped_bit(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    damaged = tmp_path / "model"
    shutil.copytree(model, damaged)
    weights = damaged / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-5] ^= 4
    weights.write_bytes(content)
    with pytest.raises(abridge.ModelError, match="model.safetensors"):
        abridge.Translator(damaged)


def test_text_that_is_not_utf8(translator: abridge.Translator, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "text.en"
    file.write_bytes(b"Good.\nB\xffd.\n")
    with pytest.raises(abridge.DataError, match=r"text\.en:2: "):
        translator.translate_file(file)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beam": 0}, "at least one"),
        ({"n_best": 9}, "set the beam to 9"),
        ({"sample": True, "temperature": 0.0}, "beam of 1"),
        ({"context_size": 9}, "at most 2"),
    ],
)
def test_invalid_settings(
    translator: abridge.Translator, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(abridge.ConfigError, match=message):
        translator.translate(["It was old."], **settings)


def test_wrong_arguments(translator: abridge.Translator) -> None:
    with pytest.raises(TypeError, match="beem"):
        translator.translate(["It was old."], beem=3)  # type: ignore[call-arg]
    with pytest.raises(abridge.ConfigError, match="one string"):
        translator.translate("It was old.")
    with pytest.raises(abridge.ConfigError, match="sentences is a set, which has no order"):
        translator.translate({"It was old.", "It was new."})
    with pytest.raises(abridge.ConfigError, match="threads is 0"):
        abridge.Translator("model", threads=0)
    with pytest.raises(TypeError):
        translator.translate([1, 2])  # type: ignore[list-item]


def test_sentences_that_are_too_long_to_score(translator: abridge.Translator) -> None:
    with pytest.raises(abridge.DataError, match="split it"):
        translator.score("word " * 5000, ["Wort"])


def test_invalid_recipes(data: pathlib.Path, tmp_path: pathlib.Path) -> None:
    run = tmp_path / "run"
    with pytest.raises(abridge.ConfigError, match="gruoping"):
        abridge.train({"model": {"preset": "gruoping"}}, data, run)
    with pytest.raises(abridge.ConfigError, match="nonsense"):
        abridge.train({"nonsense": 1}, data, run)
    with pytest.raises(abridge.Error, match="nowhere"):
        abridge.train({}, tmp_path / "nowhere", run)


def test_documents_that_are_no_pairs(tmp_path: pathlib.Path) -> None:
    with pytest.raises(abridge.ConfigError, match="sentence 1 of document 1"):
        abridge.prepare(tmp_path / "data", train=[["only a source"]])  # type: ignore[arg-type]
    with pytest.raises(abridge.DataError, match="train split is empty"):
        abridge.prepare(tmp_path / "data", train=iter([]))


def test_an_error_in_a_callback_comes_back(translator: abridge.Translator, document: list[str]) -> None:
    def fail(_: int) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        translator.translate(document, progress=fail, max_length=5)


def test_models_that_cannot_be_imported(tmp_path: pathlib.Path) -> None:
    (tmp_path / "foreign").mkdir()
    with pytest.raises(abridge.Error, match="foreign"):
        abridge.import_model(tmp_path / "foreign", tmp_path / "model")
    with pytest.raises(abridge.ConfigError, match="gruoping"):
        abridge.import_model(tmp_path / "a.pt", tmp_path / "model", preset="gruoping")
    with pytest.raises(abridge.ModelError, match="a.pt"):
        abridge.import_model(tmp_path / "a.pt", tmp_path / "model", preset="grouping")
    assert not (tmp_path / "model").exists()
