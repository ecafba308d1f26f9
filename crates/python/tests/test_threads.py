"""Several threads, Ctrl-C, and memory that comes back."""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import random
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from conftest import RECIPE, comet_model

import abridge

# Background jobs of a shell ignore SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)


def test_threads_share_a_translator(translator: abridge.Translator, document: list[str]) -> None:
    def work() -> list[str]:
        return [t.text for t in translator.translate(document, beam=1, max_length=8)]

    expected = work()
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(work())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_threads_share_a_session(translator: abridge.Translator) -> None:
    session = translator.session()

    def work() -> None:
        session.translate("It was old.", beam=1, max_length=5)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.sentences == 8 and len(session) == 2


def test_threads_share_a_stream(translator: abridge.Translator, document: list[str]) -> None:
    expected = sorted(t.text for t in translator.translate(document, beam=1, max_length=8))
    stream = translator.stream((sentence for sentence in document), beam=1, max_length=8)
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.extend(map(str, stream))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == expected


def test_python_goes_on_while_it_translates(translator: abridge.Translator) -> None:
    def work() -> None:
        translator.translate(["It was old and nobody knew it."] * 200, min_length=30, max_length=40)

    ticks = 0
    worker = threading.Thread(target=work)
    worker.start()
    while worker.is_alive():
        ticks += 1
        time.sleep(0.001)
    assert ticks > 5


def test_ctrl_c_stops_long_work(translator: abridge.Translator) -> None:
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    done: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        translator.translate(["It was old."] * 100_000, min_length=100, max_length=150, progress=done.append)
    assert sum(done) < 100_000
    # The translator still works.
    assert len(translator.translate(["It was old."], beam=1, max_length=5)) == 1


SENTENCE, TRANSLATION = "It was old and nobody knew it.", "Es war alt und niemand kannte es."
LONG: dict[str, Any] = {"min_length": 100, "max_length": 150}


def random_lines(seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(str(draw.randrange(100)) for _ in range(200)) for _ in range(1000)]


def long_work(
    name: str, translator: abridge.Translator, data: pathlib.Path, folder: pathlib.Path
) -> Callable[[], object]:
    """Work of minutes, so that the fastest machine does not finish it before it is interrupted."""
    sources = [SENTENCE] * 50_000
    match name:
        case "documents":
            return lambda: translator.translate_documents([sources], **LONG)
        case "file":
            text = folder / "long.en"
            text.write_text("\n".join(sources))
            return lambda: translator.translate_file(text, **LONG)
        case "stream":
            return lambda: list(translator.stream(sources, **LONG))
        case "score":
            return lambda: translator.score(SENTENCE, [TRANSLATION] * 100_000)
        case "inspect":
            return lambda: translator.inspect(sources[:2000], [TRANSLATION] * 2000)
        case "contrast":
            example = {"src context": [SENTENCE] * 2, "ref context": [TRANSLATION] * 2}
            examples = [
                example
                | {
                    "src segment": f"{number}. {SENTENCE * 4}",
                    "ref segment": f"{number}. {TRANSLATION * 4}",
                    "errors": [{"contrastive": f"{number}. Er war alt. {TRANSLATION * 4}"}],
                }
                for number in range(40_000)
            ]
            (folder / "set.json").write_text(json.dumps(examples))
            return lambda: abridge.contrast(translator, folder / "set.json")
        case "cxmi":
            documents = [[(SENTENCE, TRANSLATION)] * 500] * 400
            return lambda: abridge.cxmi(translator, documents)
        case "comet":
            model = comet_model(folder / "comet")
            lines = [f"{number}: {SENTENCE}" for number in range(500_000)]
            return lambda: abridge.evaluate.comet(model, lines, lines[::-1], lines)
        case "ter":
            return lambda: abridge.evaluate.ter(random_lines(1) * 100, random_lines(2) * 100)
        case "bootstrap" | "randomization":
            ones, others = random_lines(1), random_lines(2)
            return lambda: abridge.evaluate.compare(ones, others, ones, test=name, samples=10_000_000)
        case "prepare":
            letters = itertools.product("bdfgklmnprst", "aeiou", "lmnrst", range(10_000))
            words = ("".join(map(str, parts)) for parts in letters)
            wide = [[(word, word)] for word in words]
            return lambda: abridge.prepare(folder / "data", train=wide, vocabulary_size=10_000)
        case "train":
            settings = {"stop.max_updates": 1_000_000, "stop.validate_every": 1_000_000}
            return lambda: abridge.train(RECIPE, data, folder / "run", settings=settings)
    raise ValueError(name)


@pytest.mark.parametrize(
    "name",
    [
        "documents",
        "file",
        "stream",
        "score",
        "inspect",
        "contrast",
        "cxmi",
        "comet",
        "ter",
        "bootstrap",
        "randomization",
        "prepare",
        "train",
    ],
)
def test_ctrl_c_stops_everything_long(
    translator: abridge.Translator, data: pathlib.Path, tmp_path: pathlib.Path, name: str
) -> None:
    work = long_work(name, translator, data, tmp_path)
    asked: list[float] = []

    def interrupt() -> None:
        asked.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        timer.cancel()
    # Speed is not asserted, only that the work did not go on to its end.
    assert time.monotonic() - asked[0] < 30
    assert len(translator.translate(["It was old."], beam=1, max_length=5)) == 1


def resident() -> int:
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_memory_returns_after_1000_translators(model: pathlib.Path) -> None:
    def use(count: int) -> None:
        for _ in range(count):
            abridge.Translator(model, threads=1).translate(["It was old."], beam=1, max_length=3)

    use(100)
    before = resident()
    use(900)
    after = resident()
    assert after < before + 32 * 2**20, f"{before} bytes before, {after} after"
