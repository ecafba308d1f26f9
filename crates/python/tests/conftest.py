"""A corpus and a tiny model, made once."""

from __future__ import annotations

import pathlib
import shutil
from typing import Any

import pytest

import abridge

RECIPE: dict[str, Any] = {
    "model": {"preset": "grouping", "size": "tiny", "context_size": 2, "change": {"width": 16}},
    "batches": {"max_tokens": 512, "per_update": 1},
    "stop": {"max_updates": 20},
    "validation": {"sentences": 4},
}


CRATES = pathlib.Path(__file__).parents[2]
COMET = CRATES / "evaluate" / "tests" / "fixtures" / "comet"


def comet_model(folder: pathlib.Path) -> pathlib.Path:
    """A directory as the makers of COMET publish their models, with a tiny one."""
    (folder / "checkpoints").mkdir(parents=True)
    for name in ("config.json", "sentencepiece.bpe.model", "hparams.yaml"):
        shutil.copy(COMET / name, folder / name)
    shutil.copy(COMET / "model.ckpt", folder / "checkpoints")
    return folder


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("practice") / "data"
    abridge.practice(folder, train_documents=150)
    return folder


@pytest.fixture(scope="session")
def model(data: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    trained = abridge.train(RECIPE, data, tmp_path_factory.mktemp("run") / "run", workers=1)
    assert trained.ending == "limit" and trained.updates == 20
    assert trained.model is not None
    return pathlib.Path(trained.model)


@pytest.fixture(scope="session")
def translator(model: pathlib.Path) -> abridge.Translator:
    return abridge.Translator(model, threads=2)


@pytest.fixture(scope="session")
def document(data: pathlib.Path) -> list[str]:
    return (data / "text" / "test.en").read_text().splitlines()[:6]
