#!/usr/bin/env python3
"""The comparison for `tokenizer.rs`: SentencePiece on the same text, machine and two threads.

    pip install sentencepiece==0.2.2
    python sentencepiece_peer.py train.en
"""
import array
import collections
import os
import sys
import tempfile
import time

import sentencepiece as spm

PIECES = 20_000
path = sys.argv[1]
lines = open(path, encoding="utf-8").read().split("\n")[:-1]
print(f"{len(lines)} lines, {os.path.getsize(path)} bytes")
with tempfile.TemporaryDirectory() as directory:
    prefix = os.path.join(directory, "peer")
    start = time.time()
    spm.SentencePieceTrainer.train(input=path, model_prefix=prefix, model_type="bpe", vocab_size=PIECES,
                                   user_defined_symbols=["<brk>"], num_threads=2, minloglevel=2)
    print(f"train {PIECES} pieces: {time.time() - start:.2f} s")
    model = spm.SentencePieceProcessor(model_file=prefix + ".model")
    for threads in (1, 2):
        start = time.time()
        ids = model.encode(lines, num_threads=threads)
        seconds = time.time() - start
        print(f"encode, {threads} thread(s): {seconds:.2f} s, {sum(map(len, ids)) / len(lines):.3f} tokens per line")

# The least that a preparation in plain Python does, as fairseq's: words between spaces, counted, numbered,
# looked up, written.
start = time.time()
counts = collections.Counter()
for line in lines:
    counts.update(line.split())
ids = {word: number for number, (word, _) in enumerate(counts.most_common())}
counted = time.time() - start
tokens = array.array("i")
ends = array.array("q")
for line in lines:
    tokens.extend([ids[word] for word in line.split()])
    ends.append(len(tokens))
with tempfile.TemporaryFile() as file:
    tokens.tofile(file)
    ends.tofile(file)
print(f"plain Python, one thread: {counted:.2f} s to count words, {time.time() - start - counted:.2f} s to encode")
