#!/usr/bin/env python3
"""Compares abridge with CTranslate2 on a MarianMT model of OPUS-MT's size: same files, sentences and threads.

    pip install ./crates/python ctranslate2 transformers torch sentencepiece sacremoses
    python marian_mt.py ABRIDGE TEXT FOLDER

transformers makes the model in FOLDER, unless one is there: 6 + 6 layers, width 512, feed-forward 2048, 8 heads,
58,101 words, Swish, random weights; SentencePiece learns the pieces from TEXT. `abridge import` and CTranslate2's
own converter read that folder. Random weights do not end a sentence, so every translation gets LENGTH words. In f32
both programs must then write the same words, greedily; otherwise this stops.

Each row is a process of its own that loads, translates once to warm up and then measures. The programs take turns,
and CTranslate2 has the better of one worker per thread and one worker with all threads, chosen once before. Prints
sentences per second and the ratios (median and range), and the largest resident size.
"""
import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

OURS = """
import json, sys, time
import abridge
model, threads, workers, beam, batch, length, path = sys.argv[1:]
threads, beam, batch, length = int(threads), int(beam), int(batch), int(length)
sentences = json.load(open(path))["text"]
translator = abridge.Translator(model, threads=threads)
search = dict(beam=beam, min_length=length, max_length=length)
def work(lines):
    if batch == 1:
        return [translator.translate([line], **search)[0] for line in lines]
    return [found[0] for found in translator.translate_documents([[line] for line in lines], **search)]
work(sentences[:2])
start = time.perf_counter()
found = work(sentences)
print(json.dumps({"seconds": time.perf_counter() - start, "words": [" ".join(f.hypotheses[0].tokens[: length - 1]) for f in found]}))
"""

THEIRS = """
import json, sys, time
import ctranslate2
model, threads, workers, beam, batch, length, path = sys.argv[1:]
threads, workers, beam, batch, length = int(threads), int(workers), int(beam), int(batch), int(length)
sentences = json.load(open(path))["pieces"]
folder, compute = model.rsplit(":", 1)
translator = ctranslate2.Translator(
    folder, device="cpu", compute_type=compute, inter_threads=workers, intra_threads=threads // workers)
search = dict(beam_size=beam, min_decoding_length=length, max_decoding_length=length)
def work(lines):
    if batch == 1:
        return [translator.translate_batch([line], **search)[0] for line in lines]
    return translator.translate_batch(lines, max_batch_size=batch, **search)
work(sentences[:2])
start = time.perf_counter()
found = work(sentences)
print(json.dumps({"seconds": time.perf_counter() - start, "words": [" ".join(f.hypotheses[0][: length - 1]) for f in found]}))
"""


def make(folder, text):
    """A MarianMT directory with random weights, as transformers saves it."""
    import sentencepiece as spm
    import torch
    from transformers import GenerationConfig, MarianConfig, MarianMTModel, MarianTokenizer

    folder.mkdir(parents=True)
    lines = text.read_text(encoding="utf-8").splitlines()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=str(folder / "source"), vocab_size=8000, model_type="unigram",
        hard_vocab_limit=False, character_coverage=1.0, minloglevel=2,
    )
    (folder / "source.vocab").unlink()
    pieces = (folder / "source.model").rename(folder / "source.spm")
    (folder / "target.spm").write_bytes(pieces.read_bytes())
    learned = spm.SentencePieceProcessor(model_file=str(pieces))
    vocabulary = {"</s>": 0, "<unk>": 1}
    for number in range(learned.vocab_size()):
        if not learned.is_control(number) and not learned.is_unknown(number):
            vocabulary.setdefault(learned.id_to_piece(number), len(vocabulary))
    # Words that the text does not have: scored at every step, like those of a real vocabulary.
    while len(vocabulary) < 58_100:
        vocabulary[f"\u2581word{len(vocabulary)}"] = len(vocabulary)
    pad = vocabulary.setdefault("<pad>", len(vocabulary))
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    torch.manual_seed(5)
    config = MarianConfig(
        vocab_size=len(vocabulary), d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
        decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, activation_function="swish",
        max_position_embeddings=512, scale_embedding=True, static_position_embeddings=True, init_std=0.05,
        pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad, forced_eos_token_id=0,
    )
    model = MarianMTModel(config).eval()
    model.generation_config = GenerationConfig(
        bad_words_ids=[[pad]], decoder_start_token_id=pad, eos_token_id=0, forced_eos_token_id=0, max_length=512,
        num_beams=4, pad_token_id=pad,
    )
    model.save_pretrained(folder)
    tokenizer = MarianTokenizer(str(pieces), str(folder / "target.spm"), str(folder / "vocab.json"))
    tokenizer.save_pretrained(folder)


def prepare(folder, text):
    """The model as transformers saves it, and as CTranslate2 wants it; what exists already stays."""
    if not (folder / "hub").exists():
        make(folder / "hub", text)
    if not (folder / "ct2").exists():
        from ctranslate2.converters import TransformersConverter

        TransformersConverter(str(folder / "hub")).convert(str(folder / "ct2"))


def measured(script, *arguments):
    """What the process says, and its largest resident size in MB."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([sys.executable, "-c", script, *map(str, arguments)], stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        if status:
            sys.exit("a process failed")
        out.seek(0)
        answer = json.load(out)
    return answer["seconds"], answer["words"], usage.ru_maxrss / 1000


def main():
    numbers = lambda text: [int(number) for number in text.split(",")]
    parser = argparse.ArgumentParser()
    parser.add_argument("program", help="abridge")
    parser.add_argument("text", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--length", type=int, default=25, help="words of every translation")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--weights", type=lambda text: text.split(","), default=["float32", "int8"])
    parser.add_argument("--beam", type=numbers, default=[1, 4])
    parser.add_argument("--batch", type=numbers, default=[1, 32], help="1: one call for each sentence; 32: one for all")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    folder, threads, length = options.folder, options.threads, options.length
    # In a process of its own: the resident size of a child begins with that of its parent, and torch is large.
    preparing = multiprocessing.get_context("spawn").Process(target=prepare, args=(folder, options.text))
    preparing.start()
    preparing.join()
    if preparing.exitcode:
        sys.exit("the model was not made")
    ours = {"float32": folder / "abridge", "int8": folder / "abridge-int8"}
    if not ours["float32"].exists():
        subprocess.run([options.program, "import", folder / "hub", "--output", ours["float32"]], check=True)
    if not ours["int8"].exists():
        command = [options.program, "quantize", "--model", ours["float32"], "--to", "int8", ours["int8"]]
        subprocess.run(command, check=True)
    import sentencepiece as spm

    pieces = spm.SentencePieceProcessor(model_file=str(folder / "hub" / "source.spm"))
    lines = [line for line in options.text.read_text(encoding="utf-8").splitlines() if line.strip()]
    lines = lines[: options.sentences]
    print(f"{len(lines)} sentences, {threads} threads, {length} words each, {options.rounds} rounds")
    with tempfile.TemporaryDirectory() as name:
        text = Path(name) / "text.json"
        # The model adds the end of a sentence; CTranslate2 does not do so for MarianMT.
        cut = [pieces.encode(line, out_type=str) + ["</s>"] for line in lines]
        text.write_text(json.dumps({"text": lines, "pieces": cut}))
        for weights in options.weights:
            theirs = f"{folder / 'ct2'}:{weights}"
            for beam in options.beam:
                for batch in options.batch:
                    setting = (beam, batch, length, text)
                    tried = {
                        workers: measured(THEIRS, theirs, threads, workers, *setting)[0]
                        for workers in sorted({1, threads})
                    }
                    workers = min(tried, key=tried.get)
                    both, memory = [], [0.0, 0.0]
                    for number in range(options.rounds):
                        turns = [(0, OURS, ours[weights]), (1, THEIRS, theirs)]
                        found = [0.0, 0.0]
                        words = [None, None]
                        for side, script, model in turns if number % 2 else turns[::-1]:
                            found[side], words[side], size = measured(script, model, threads, workers, *setting)
                            memory[side] = max(memory[side], size)
                        both.append([len(lines) / seconds for seconds in found])
                        if weights == "float32" and beam == 1 and number == 0:
                            same = sum(a == b for a, b in zip(*words))
                            print(f"the same words in {same} of {len(lines)} translations", flush=True)
                            if same < 0.9 * len(lines):
                                sys.exit(f"not the same network:\n{words[0][0]}\n{words[1][0]}")
                    ratios = [here / there for here, there in both]
                    here, there = (statistics.median(side) for side in zip(*both))
                    print(
                        f"{weights:<8} beam {beam} batch {batch:>2}  abridge {here:6.1f}/s {memory[0]:5.0f} MB  "
                        f"CTranslate2 {there:6.1f}/s {memory[1]:5.0f} MB  ratio {statistics.median(ratios):.2f} "
                        f"({min(ratios):.2f} to {max(ratios):.2f})",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
