"""From documents in memory to a model; stopped and resumed."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import RECIPE

import abridge


def test_from_any_iterable_to_a_model(tmp_path: pathlib.Path) -> None:
    def documents(count: int) -> Iterator[list[tuple[str, str]]]:
        for number in range(count):
            yield [
                (f"The lamp {number} is old.", f"Die Lampe {number} ist alt."),
                ("It is red.", "Sie ist rot."),
            ]

    data = tmp_path / "data"
    manifest = abridge.prepare(data, train=documents(30), valid=documents(3), vocabulary_size=60)
    assert manifest["vocabularies"]["source"] == 60
    events: list[dict[str, Any]] = []
    settings = {"stop.max_updates": 3}
    trained = abridge.train(
        RECIPE, data, tmp_path / "run", settings=settings, workers=1, on_update=events.append
    )
    assert trained.updates == 3 and trained.ending == "limit" and trained.model is not None
    assert [event["update"] for event in events if event["event"] == "updated"] == [1, 2, 3]
    assert any(event["event"] == "validated" for event in events)
    translator = abridge.Translator(trained.model)
    assert translator.languages == ("en", "de")
    assert len(translator.translate(["The lamp 1 is old."], beam=1, max_length=4)) == 1


def test_files_and_iterables_give_the_same_vocabulary(tmp_path: pathlib.Path) -> None:
    pairs = [("A small house.", "Ein kleines Haus."), ("It is old.", "Es ist alt.")] * 10
    files = (tmp_path / "train.en", tmp_path / "train.de")
    for side, file in enumerate(files):
        file.write_text("".join(f"{pair[side]}\n" for pair in pairs))
    abridge.prepare(tmp_path / "files", train=files, vocabulary_size=35)
    abridge.prepare(tmp_path / "memory", train=[pairs], vocabulary_size=35)
    name = "tokenizer.source.json"
    assert (tmp_path / "files" / name).read_bytes() == (tmp_path / "memory" / name).read_bytes()


def test_stopped_by_the_callback_it_goes_on(data: pathlib.Path, tmp_path: pathlib.Path) -> None:
    def until_four(event: dict[str, Any]) -> bool:
        return bool(event.get("update", 0) < 4)

    stopped = abridge.train(RECIPE, data, tmp_path / "run", workers=1, on_update=until_four)
    assert stopped.ending == "stopped" and stopped.updates == 4 and stopped.model is None
    events: list[dict[str, Any]] = []
    settings = {"stop.max_updates": 6}
    whole = abridge.train(
        RECIPE, data, tmp_path / "run", settings=settings, workers=1, on_update=events.append
    )
    assert whole.updates == 6 and whole.model is not None
    assert events[0]["event"] == "resumed" and events[0]["update"] == 4
    again = abridge.train(RECIPE, data, tmp_path / "other", settings=settings, workers=1)
    assert again.model is not None
    weights = [pathlib.Path(m, "model.safetensors").read_bytes() for m in (whole.model, again.model)]
    assert weights[0] == weights[1], "a stop changes no bit"


def test_a_recipe_as_text(data: pathlib.Path, tmp_path: pathlib.Path) -> None:
    text = '[model]\npreset = "sentence"\nsize = "tiny"\n[stop]\nmax_updates = 1\n[validation]\nsentences = 0\n'
    assert abridge.train(text, data, tmp_path / "a", workers=1).updates == 1
    file = tmp_path / "recipe.toml"
    file.write_text(text)
    assert abridge.train(file, data, tmp_path / "b", workers=1).updates == 1
    with pytest.raises(abridge.Error):
        abridge.train(tmp_path / "none.toml", data, tmp_path / "c")
