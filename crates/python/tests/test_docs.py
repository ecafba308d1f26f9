"""Examples in docstrings and in the book run."""

from __future__ import annotations

import doctest
import pathlib
import re
from types import ModuleType

import pytest

import abridge

BOOK = pathlib.Path(__file__).parents[3] / "docs" / "python.md"


@pytest.mark.parametrize("module", [abridge, abridge.evaluate])
def test_docstrings(module: ModuleType) -> None:
    failed, tried = doctest.testmod(module)
    assert tried > 0 and failed == 0


def test_the_tutorial_of_the_book(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", BOOK.read_text(), re.S)
    assert len(blocks) > 5
    exec(compile("\n".join(blocks), str(BOOK), "exec"), {"__name__": "tutorial"})
