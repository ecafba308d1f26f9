#!/usr/bin/env python3
"""Compares abridge with slimt on a Firefox model with its shortlist: same file, sentences, one thread, greedy.

    pip install slimt sacrebleu
    abridge import FOLDER --output MODEL
    python firefox.py ABRIDGE MODEL FOLDER SOURCE [REFERENCE]

Rounds alternate, so that other load on the machine affects both alike. CPU time is compared; wall time is also
shown. "One by one" sends a sentence when the previous translation has arrived; "together" sends all at once, and
each program makes its own batches.
"""
import resource
import subprocess
import sys
import time

SLIMT = """
import glob, importlib.util, json, os, resource, sys, time
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


def measured(command, text, one_by_one=False):
    """Output, CPU seconds and wall seconds of a command."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    if one_by_one:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        lines = []
        for line in text.splitlines():
            process.stdin.write(line + "\n")
            process.stdin.flush()
            lines.append(process.stdout.readline())
        process.stdin.close()
        process.wait()
        output = "".join(lines)
    else:
        output = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return output, seconds, time.time() - start


def main():
    abridge, model, folder, source = sys.argv[1:5]
    reference = sys.argv[5] if len(sys.argv) > 5 else None
    text = open(source).read()
    ours = [abridge, "translate", "--quiet", "--threads", "1", "--model", model]
    theirs = [sys.executable, "-c", SLIMT, folder]
    for mode in ("one", "all"):
        times = {"abridge": [], "slimt": []}
        for _ in range(3):
            output, *spent = measured(ours + (["-"] if mode == "one" else [source]), text, mode == "one")
            times["abridge"].append(spent)
            other, *spent = measured(theirs + [mode], text)
            times["slimt"].append(spent)
        best = {name: min(seconds for seconds, _ in runs) for name, runs in times.items()}
        wall = {name: min(wall for _, wall in runs) for name, runs in times.items()}
        what = "one by one" if mode == "one" else "together"
        print(f"{what}: abridge {best['abridge']:.2f} s, slimt {best['slimt']:.2f} s of processor time "
              f"(ratio {best['slimt'] / best['abridge']:.2f}); wall {wall['abridge']:.2f} and {wall['slimt']:.2f} s")
        if reference:
            import sacrebleu

            for name, found in (("abridge", output), ("slimt", other)):
                lines = found.splitlines()
                score = sacrebleu.corpus_bleu(lines, [open(reference).read().splitlines()]).score
                print(f"  {name}: BLEU {score:.2f} on {len(lines)} lines")


if __name__ == "__main__":
    main()
