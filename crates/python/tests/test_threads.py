"""Several threads, Ctrl-C, and memory that comes back."""

from __future__ import annotations

import os
import pathlib
import signal
import threading
import time

import pytest

import abridge


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
