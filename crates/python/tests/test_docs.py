"""Examples in docstrings and in the book run."""

from __future__ import annotations

import doctest
import inspect
import pathlib
import re
from typing import Any

import pytest

import abridge

BOOK = pathlib.Path(__file__).parents[3] / "docs" / "python.md"


def documented() -> list[Any]:
    """The modules, every public function, every class, and its methods."""
    found: dict[str, Any] = {"abridge": abridge, "evaluate": abridge.evaluate}
    for module in (abridge, abridge.evaluate):
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing):
                found[name] = thing
            if inspect.isclass(thing) and not issubclass(thing, Exception):
                methods = {f"{name}.{key}": value for key, value in vars(thing).items() if key[0] != "_"}
                found |= {key: method for key, method in methods.items() if inspect.isroutine(method)}
    return [pytest.param(thing, id=name) for name, thing in found.items()]


@pytest.mark.parametrize("thing", documented())
def test_docstrings(
    thing: Any,
    translator: abridge.Translator,
    model: pathlib.Path,
    data: pathlib.Path,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert thing.__doc__, "has no docstring"
    if inspect.isbuiltin(thing) or inspect.ismodule(thing):
        assert ">>> " in thing.__doc__, "a function has an example"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").symlink_to(model)
    (tmp_path / "data").symlink_to(data)
    names = {"abridge": abridge, "translator": translator}
    test = doctest.DocTestParser().get_doctest(thing.__doc__, names, thing.__name__, None, None)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_the_tutorial_of_the_book(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", BOOK.read_text(), re.S)
    assert len(blocks) > 5
    exec(compile("\n".join(blocks), str(BOOK), "exec"), {"__name__": "tutorial"})
