"""What translating from Python costs beside the command line: the same model, text and threads.

    cargo build --release -p abridge-cli
    pip install ./crates/python
    python crates/python/benches/beside_command_line.py MODEL talk.en --program target/release/abridge

Both are whole processes, from start to the written file; from Python every sentence becomes an object
with its hypotheses, tokens and scores first. They take turns, and the translations must be the same
bytes. Prints seconds and processor seconds of each round, then the ratios: the median and the range.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPT = """
import sys
import abridge

model, text, output, threads, search = sys.argv[1:]
with open(text, encoding="utf-8") as file:
    sentences = file.read().splitlines()
translator = abridge.Translator(model, threads=int(threads))
found = translator.translate(sentences, **eval(search))
with open(output, "w", encoding="utf-8", newline="") as file:
    file.writelines(f"{translation.text}\\n" for translation in found)
"""


def run(command: list[str]) -> tuple[float, float]:
    """Seconds, and processor seconds."""
    start = time.perf_counter()
    child = subprocess.Popen(command)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"{command[0]} failed")
    return seconds, usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("text", type=Path, help="lines of one document: no empty ones")
    parser.add_argument("--program", default="target/release/abridge")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--length", type=int, help="words of each translation, if the weights are random")
    options = parser.parse_args()
    lines = [line for line in options.text.read_text(encoding="utf-8").splitlines() if line.strip()]
    lines = lines[: options.sentences]
    search = {} if options.length is None else {"min_length": options.length, "max_length": options.length}
    flags = [part for name, value in search.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    print(f"{len(lines)} sentences, {options.threads} threads")
    print(f"{'round':>5} {'command s':>10} {'Python s':>10} {'ratio':>6} {'command CPU s':>14} {'Python CPU s':>13} {'ratio':>6}")
    wall, processor = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text, ours, theirs = folder / "text.en", folder / "command.de", folder / "python.de"
        text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        threads = str(options.threads)
        command = [options.program, "translate", "--quiet", "--model", str(options.model)]
        command += ["--threads", threads, *flags, str(text), "--output", str(ours)]
        python = [sys.executable, "-c", SCRIPT, str(options.model), str(text), str(theirs), threads, repr(search)]
        # The first round warms up. Who begins takes turns, too.
        for number in range(options.rounds + 1):
            order = [command, python] if number % 2 else [python, command]
            times = {id(which): run(which) for which in order}
            (here, here_cpu), (there, there_cpu) = times[id(command)], times[id(python)]
            if ours.read_bytes() != theirs.read_bytes():
                sys.exit("the translations differ")
            ours.unlink()
            if number == 0:
                continue
            wall.append(there / here)
            processor.append(there_cpu / here_cpu)
            print(f"{number:>5} {here:>10.2f} {there:>10.2f} {wall[-1]:>6.3f} {here_cpu:>14.2f} {there_cpu:>13.2f} {processor[-1]:>6.3f}", flush=True)
    for what, ratios in (("time", wall), ("processor time", processor)):
        print(f"{what}: {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    main()
