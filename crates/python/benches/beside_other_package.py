"""abridge's Python package beside CTranslate2's: the same weights, sentences and threads, from Python.

    cargo bench -p abridge-translate --bench translate -- --size small --preset sentence \\
        --vocabulary 8000 --sentences 320 --export exported
    abridge quantize --model exported/model --to int8 exported/int8
    pip install ./crates/python ctranslate2 safetensors numpy
    python crates/python/benches/beside_other_package.py exported --program target/release/abridge

Reads what the benchmark of `crates/translate` exported, and checks with its script that both mean the
same network. Both get the same number of words to write, if the weights are random. They take turns;
prints sentences per second of each round, then the ratios: the median and the range. "at once" is one
call with all sentences, "one by one" one call for each, which is what a program that waits for every
answer does. CTranslate2 gets the better of one worker per thread and one worker with all of them, tried
once before.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import abridge
import ctranslate2

sys.path.append(str(Path(__file__).parents[2] / "translate" / "benches"))
from beside_ctranslate2 import check, convert  # noqa: E402


def text_of(model: Path, sentences: list[list[int]]) -> list[str]:
    """The text of sentences; it must be cut into the same pieces again."""
    vocabulary = json.loads((model / "tokenizer.source.json").read_text())["model"]["vocab"]
    piece = {number: text for text, number in vocabulary.items()}
    return ["".join(piece[i] for i in sentence).replace("\u2581", " ").strip() for sentence in sentences]


def rate(work: Callable[[], None], count: int) -> float:
    start = time.perf_counter()
    work()
    return count / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="what the benchmark's --export wrote")
    parser.add_argument("--model", type=Path, help="the model directory, unless it is in the folder")
    parser.add_argument("--int8", type=Path, help="what quantize made of it, unless it is in the folder")
    parser.add_argument("--program", help="abridge, to compare a few translations with")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sentences", type=int, help="the first ones only")
    options = parser.parse_args()
    model = options.model or options.folder / "model"
    int8 = options.int8 or options.folder / "int8"
    data = json.loads((options.folder / "sentences.json").read_text())
    ids = data["sentences"][: options.sentences]
    theirs = [[str(i) for i in sentence] for sentence in ids]
    ours = text_of(model, ids)
    length, beam, threads, count = data["length"], options.beam, options.threads, len(ids)
    ours_search, theirs_search = {}, {"max_decoding_length": 200}
    if length is not None:
        ours_search = {"min_length": length, "max_length": length}
        theirs_search = {"min_decoding_length": length, "max_decoding_length": length}
    print(f"{count} sentences, beam {beam}, {threads} threads, abridge {abridge.__version__}, CTranslate2 {ctranslate2.__version__}")
    with tempfile.TemporaryDirectory() as converted:
        convert(model, converted)
        for weights, directory in (("float32", model), ("int8", int8)):
            if not directory.exists():
                continue
            translator = abridge.Translator(directory, threads=threads)

            def foreign(workers: int) -> ctranslate2.Translator:
                return ctranslate2.Translator(
                    converted, device="cpu", compute_type=weights,
                    inter_threads=workers, intra_threads=threads // workers,
                )

            def at_once(other: ctranslate2.Translator) -> tuple[Callable[[], None], Callable[[], None]]:
                def ours_all() -> None:
                    documents = ([sentence] for sentence in ours)
                    found = translator.translate_documents(documents, beam=beam, **ours_search)
                    assert len(found) == count

                def theirs_all() -> None:
                    found = other.translate_batch(theirs, beam_size=beam, max_batch_size=32, **theirs_search)
                    assert len(found) == count

                return ours_all, theirs_all

            def one_by_one(other: ctranslate2.Translator) -> tuple[Callable[[], None], Callable[[], None]]:
                def ours_each() -> None:
                    for sentence in ours:
                        translator.translate([sentence], beam=beam, **ours_search)

                def theirs_each() -> None:
                    for sentence in theirs:
                        other.translate_batch([sentence], beam_size=beam, **theirs_search)

                return ours_each, theirs_each

            for name, way in (("at once", at_once), ("one by one", one_by_one)):
                tried = [foreign(workers) for workers in sorted({1, threads})]
                if options.program and weights == "float32" and name == "at once":
                    check(tried[0], model, ids[:5], options.program)
                other = max(tried, key=lambda other: rate(way(other)[1], count))
                both = way(other)
                rates = []
                for number in range(options.rounds + 1):
                    order = both if number % 2 else both[::-1]
                    found = {work: rate(work, count) for work in order}
                    # The first round warms up.
                    if number:
                        rates.append((found[both[0]], found[both[1]]))
                ratios = [here / there for here, there in rates]
                here, there = (statistics.median(side) for side in zip(*rates))
                print(
                    f"{weights:<8} {name:<10} abridge {here:7.1f}/s  CTranslate2 {there:7.1f}/s  "
                    f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
                    flush=True,
                )


if __name__ == "__main__":
    main()
