#!/usr/bin/env python3
"""Compares abridge with slimt and fxtranslate on a Firefox model with its shortlist: same files, sentences, greedy,
one thread each.

    pip install slimt fxtranslate sacrebleu
    abridge import FOLDER --output MODEL
    python firefox.py ABRIDGE MODEL FOLDER SOURCE [REFERENCE]

Each measurement is a whole process, start included. The programs take turns, so that other load on the machine
affects all alike; the first round warms up. "One by one" sends a sentence when the previous translation has
arrived; "together" sends all at once, and each program makes its own batches (fxtranslate has none: it translates
a sentence per call). "First word" is one short sentence, start included. Prints the median of wall and processor
seconds, the largest resident size, and the ratios to abridge with their range; with a reference, BLEU.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

SLIMT = """
import glob, importlib.util, os, sys
# The package looks for models on the network when it is imported, so only its library is loaded.
library = glob.glob(os.path.join(os.path.dirname(importlib.util.find_spec("slimt").origin), "_slimt*.so"))[0]
spec = importlib.util.spec_from_file_location("_slimt", library)
slimt = importlib.util.module_from_spec(spec)
spec.loader.exec_module(slimt)
folder, mode = sys.argv[1], sys.argv[2]
find = lambda pattern: glob.glob(os.path.join(folder, pattern))[0]
config = slimt.Config()
config.encoder_layers, config.decoder_layers, config.num_heads, config.feed_forward_depth = 6, 2, 8, 2
package = slimt.Package(model=find("model*.bin"), vocabulary=find("vocab*.spm"), shortlist=find("lex*.bin"))
model, service = slimt.Model(config, package), slimt.Service(workers=1, cache_size=0)
sentences = sys.stdin.read().splitlines()
turns = [[sentence] for sentence in sentences] if mode == "one" else [sentences]
for turn in turns:
    for answer in service.translate(model, turn, html=False):
        print(answer.target.text.replace("\\n", " "))
"""

FXTRANSLATE = """
import glob, os, sys
from fxtranslate import Translator
folder = sys.argv[1]
read = lambda pattern: open(glob.glob(os.path.join(folder, pattern))[0], "rb").read()
vocabulary = read("vocab*.spm")
translator = Translator(read("model*.bin"), vocabulary, vocabulary, read("lex*.bin"))
for sentence in sys.stdin.read().splitlines():
    print(translator.translate(sentence).replace("\\n", " "))
"""


def measured(command, text, one_by_one=False):
    """Output, wall seconds, processor seconds and MB of a command."""
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as found:
        given.write(text)
        given.seek(0)
        start = time.perf_counter()
        pipe = subprocess.PIPE
        child = subprocess.Popen(
            command, text=True, stdin=pipe if one_by_one else given, stdout=pipe if one_by_one else found
        )
        if one_by_one:
            for line in text.splitlines():
                child.stdin.write(line + "\n")
                child.stdin.flush()
                found.write(child.stdout.readline())
            child.stdin.close()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        if status:
            sys.exit(f"{command[0]} failed")
        found.seek(0)
        return found.read(), seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", help="abridge")
    parser.add_argument("model", help="what abridge imported")
    parser.add_argument("folder", help="what it was imported from")
    parser.add_argument("source")
    parser.add_argument("reference", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    text = open(options.source, encoding="utf-8").read()
    ours = [options.program, "translate", "--quiet", "--threads", "1", "--model", options.model]
    short = "It was built in 1900.\n"
    for what, mode, given in (("one by one", "one", text), ("together", "all", text), ("first word", "one", short)):
        commands = {
            # Every line of a file is a sentence: nothing is cut, and all are known at once.
            "abridge": ours + (["-"] if mode == "one" else [options.source]),
            "slimt": [sys.executable, "-c", SLIMT, options.folder, mode],
            "fxtranslate": [sys.executable, "-c", FXTRANSLATE, options.folder],
        }
        rows = {name: [] for name in commands}
        output = {}
        for number in range(options.rounds + 1):
            names = list(commands)[:: 1 if number % 2 else -1]
            for name in names:
                pipe = name == "abridge" and mode == "one"
                output[name], *spent = measured(commands[name], given, pipe)
                if number:
                    rows[name].append(spent)
        print(f"{what}, {len(given.splitlines())} sentences")
        for name, spent in rows.items():
            wall, processor, size = (statistics.median(side) for side in zip(*spent))
            line = f"  {name:<12} {wall:6.2f} s wall {processor:6.2f} s processor {size:5.0f} MB"
            if name != "abridge":
                for unit, column in (("wall", 0), ("processor", 1)):
                    ratios = [row[column] / mine[column] for row, mine in zip(spent, rows["abridge"])]
                    line += f"  {unit} {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            if options.reference and given is text:
                import sacrebleu

                lines = open(options.reference, encoding="utf-8").read().splitlines()
                found = output[name].splitlines()
                line += f"  BLEU {sacrebleu.corpus_bleu(found, [lines[: len(found)]]).score:.1f} on {len(found)}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
