"""Several threads, Ctrl-C, and memory that comes back."""

from __future__ import annotations

import os
import pathlib
import signal
import threading
import time
from collections.abc import Callable

import pytest

import abridge

# Jobs that a shell starts in the background ignore it.
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
    # The translator is as it was.
    assert len(translator.translate(["It was old."], beam=1, max_length=5)) == 1


def long_work(translator: abridge.Translator, folder: pathlib.Path) -> dict[str, Callable[[], object]]:
    """Everything that can take long, with much more work than the fastest machine does before it is interrupted."""
    pairs = [("It was old and nobody knew it.", "Es war alt und niemand kannte es.")] * 500
    sources = [pair[0] for pair in pairs] * 100
    text = folder / "long.en"
    text.write_text("".join(f"{source}\n" for source in sources))
    words = (f"{a}{b}{c}{d}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lmnrst" for d in range(10_000))
    wide = [[(word, word)] for word in words]
    return {
        "documents": lambda: translator.translate_documents([sources], min_length=100, max_length=150),
        "file": lambda: translator.translate_file(text, min_length=100, max_length=150),
        "stream": lambda: list(translator.stream(sources, min_length=100, max_length=150)),
        "score": lambda: translator.score(sources[0], [pair[1] for pair in pairs] * 200),
        "inspect": lambda: translator.inspect(sources[:2000], [pair[1] for pair in pairs] * 4),
        "cxmi": lambda: abridge.cxmi(translator, [pairs] * 400),
        "prepare": lambda: abridge.prepare(folder / "data", train=wide, vocabulary_size=10_000),
    }


@pytest.mark.parametrize("name", ["documents", "file", "stream", "score", "inspect", "cxmi", "prepare"])
def test_ctrl_c_stops_everything_long(
    translator: abridge.Translator, tmp_path: pathlib.Path, name: str
) -> None:
    work = long_work(translator, tmp_path)[name]
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
    # Speed is not asserted, but waiting for the end would be another matter.
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
