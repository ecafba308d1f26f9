"""From documents in memory to a model; stopped and resumed."""

from __future__ import annotations

import json
import pathlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pandas as pd
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


def test_pairs_are_rows_of_any_kind(tmp_path: pathlib.Path) -> None:
    base = sqlite3.connect(":memory:")
    base.row_factory = sqlite3.Row
    base.execute("create table pairs (document int, source text, target text)")
    rows = [(number // 2, f"The lamp {number}.", f"Die Lampe {number}.") for number in range(20)]
    base.executemany("insert into pairs values (?, ?, ?)", rows)

    def documents() -> Iterator[Any]:
        for document in range(10):
            yield base.execute("select source, target from pairs where document = ?", (document,))

    lists = [[list(row[1:]) for row in rows if row[0] == document] for document in range(10)]
    frame = pd.DataFrame(rows, columns=["document", "source", "target"])
    frames = [part[["source", "target"]].to_numpy() for _, part in frame.groupby("document")]
    made = [
        abridge.prepare(tmp_path / str(number), train=given, vocabulary_size=30)
        for number, given in enumerate((documents(), lists, frames))
    ]
    assert made[0] == made[1] == made[2]


def test_rows_are_mappings_from_languages(tmp_path: pathlib.Path) -> None:
    pairs = [(f"The lamp {number}.", f"Die Lampe {number}.") for number in range(20)]
    # As Hugging Face's translation data sets have them, in whatever order.
    flat = [{"de": german, "en": english} for english, german in pairs]
    nested = [{"id": row, "translation": texts} for row, texts in enumerate(flat)]
    expected = abridge.prepare(tmp_path / "pairs", train=[pairs], vocabulary_size=30)
    kinds: dict[str, Iterable[Mapping[str, Any]]] = {
        "flat": flat,
        "nested": nested,
        "any mapping": map(MappingProxyType, flat),
    }
    for name, rows in kinds.items():
        assert abridge.prepare(tmp_path / name, train=[rows], vocabulary_size=30) == expected
    swapped = [[(german, english) for english, german in pairs]]
    expected = abridge.prepare(tmp_path / "to", train=swapped, languages="de-en", vocabulary_size=30)
    made = abridge.prepare(tmp_path / "too", train=[flat], languages="de-en", vocabulary_size=30)
    assert made == expected


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([[{"en": "The lamp.", "fr": "La lampe."}]], r'sentence 1 of document 1 .* "en" and "de"; .*`languages`'),
        ([[("A.", "B."), {"en": "The lamp.", "de": None}]], "sentence 2 of document 1 is a mapping"),
        ([[{"translation": ["The lamp.", "Die Lampe."]}]], "give a pair"),
        ([[{"The lamp.", "Die Lampe."}]], "is a set, which has no order; give a pair"),
        ([[frozenset({"The lamp.", "Die Lampe."})]], "is a set"),
        ([{("The lamp.", "Die Lampe.")}], r"train: document 1 is a set.* give a list of pairs"),
        ([{"en": "The lamp.", "de": "Die Lampe."}], "train: document 1 is a mapping"),
        ({"train": []}, "train is a mapping"),
    ],
)
def test_rows_whose_sides_are_unknown(tmp_path: pathlib.Path, documents: Any, message: str) -> None:
    with pytest.raises(abridge.ConfigError, match=message):
        abridge.prepare(tmp_path / "data", train=documents, vocabulary_size=30)


def test_other_documents_are_other_data(tmp_path: pathlib.Path) -> None:
    pairs = [(f"The lamp {number}.", f"Die Lampe {number}.") for number in range(20)]

    def documents(first: int) -> int:
        given = [pairs[:first], pairs[first:]]
        manifest = abridge.prepare(tmp_path / "data", train=given, vocabulary_size=30)
        return hash(json.dumps(manifest["generated"]))

    assert documents(5) == documents(5)
    assert documents(5) != documents(6), "the same sentences in other documents"


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


def test_a_recipe_as_any_mapping(data: pathlib.Path, tmp_path: pathlib.Path) -> None:
    recipe = MappingProxyType(RECIPE)
    settings = MappingProxyType({"stop.max_updates": 1})
    assert abridge.train(recipe, data, tmp_path / "a", settings=settings, workers=1).updates == 1


def test_a_recipe_as_text(data: pathlib.Path, tmp_path: pathlib.Path) -> None:
    text = '[model]\npreset = "sentence"\nsize = "tiny"\n[stop]\nmax_updates = 1\n[validation]\nsentences = 0\n'
    assert abridge.train(text, data, tmp_path / "a", workers=1).updates == 1
    file = tmp_path / "recipe.toml"
    file.write_text(text)
    assert abridge.train(file, data, tmp_path / "b", workers=1).updates == 1
    with pytest.raises(abridge.Error):
        abridge.train(tmp_path / "none.toml", data, tmp_path / "c")
