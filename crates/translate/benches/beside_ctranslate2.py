"""Runs CTranslate2 with the weights of a sentence-level model of abridge, to compare with `translate.rs`.

    cargo bench -p abridge-translate --bench translate -- --size base --preset sentence --export exported
    cargo bench -p abridge-translate --bench translate -- --size base --preset sentence
    pip install ctranslate2 safetensors numpy
    python crates/translate/benches/beside_ctranslate2.py exported --program target/release/abridge

With a trained model and a text in its language, the model ends its translations itself:

    cargo bench -p abridge-translate --bench translate -- --model M --text talk.en --sentences 1000 --export exported
    cargo bench -p abridge-translate --bench translate -- --model M --text talk.en --sentences 1000
    python crates/translate/benches/beside_ctranslate2.py exported --model M

If the path of the program is given, it first checks that both programs run the same network: it compares
greedy translations of a few sentences with those of `abridge translate --json`. Then it prints the rows of
the benchmark, in single precision and in int8, each for the faster of two ways to use the threads.
`CT2_USE_MKL=0` or `1` in the environment selects CTranslate2's BLAS library.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import ctranslate2
import numpy as np
from ctranslate2.specs import TransformerSpec
from safetensors.numpy import load_file


def linear(spec, weights, *names):
    """Sets a layer from one or several concatenated projections; ours are stored [in, out]."""
    weight = np.concatenate([weights[name + ".weight"].T for name in names])
    spec.weight = np.ascontiguousarray(weight)
    spec.bias = np.concatenate([weights[name + ".bias"] for name in names])


def norm(spec, weights, name):
    spec.gamma = weights[name + ".gain"]
    spec.beta = weights[name + ".bias"]


def self_attention(spec, weights, name):
    linear(spec.linear[0], weights, *(f"{name}.{part}" for part in ("query", "key", "value")))
    linear(spec.linear[1], weights, f"{name}.output")


def cross_attention(spec, weights, name):
    linear(spec.linear[0], weights, f"{name}.query")
    linear(spec.linear[1], weights, f"{name}.key", f"{name}.value")
    linear(spec.linear[2], weights, f"{name}.output")


def positions(count, width):
    """Sines in the first half, cosines in the second; the first position has the angle 2."""
    half = width // 2
    step = np.log(10000.0) / max(half - 1.0, 1.0)
    angles = np.arange(2, 2 + count)[:, None] * np.exp(-np.arange(half) * step)[None, :]
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


def convert(model, out):
    config = tomllib.loads((model / "config.toml").read_text())
    assert config.get("context", "none") == "none", "CTranslate2 has no context: export `sentence`"
    weights = load_file(model / "model.safetensors")
    layers = (config["encoder_layers"], config["decoder_layers"])
    spec = TransformerSpec.from_config(layers, config["heads"], pre_norm=False)
    width = config["width"]
    for side, table in ((spec.encoder, "source_embedding"), (spec.decoder, "decoder.embedding")):
        embeddings = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        embeddings.weight = weights[f"{table}.weight"]
        side.scale_embeddings = True
        side.position_encodings.encodings = positions(1024, width)
    spec.decoder.projection.weight = weights["decoder.embedding.weight"]
    for number, layer in enumerate(spec.encoder.layer):
        name = f"encoder.layers.{number}"
        self_attention(layer.self_attention, weights, f"{name}.self_attention")
        norm(layer.self_attention.layer_norm, weights, f"{name}.self_attention_norm")
        linear(layer.ffn.linear_0, weights, f"{name}.feed_forward.hidden")
        linear(layer.ffn.linear_1, weights, f"{name}.feed_forward.output")
        norm(layer.ffn.layer_norm, weights, f"{name}.feed_forward_norm")
    for number, layer in enumerate(spec.decoder.layer):
        name = f"decoder.layers.{number}"
        self_attention(layer.self_attention, weights, f"{name}.self_attention")
        norm(layer.self_attention.layer_norm, weights, f"{name}.self_attention_norm")
        cross_attention(layer.attention, weights, f"{name}.cross_attention")
        norm(layer.attention.layer_norm, weights, f"{name}.cross_attention_norm")
        linear(layer.ffn.linear_0, weights, f"{name}.feed_forward.hidden")
        linear(layer.ffn.linear_1, weights, f"{name}.feed_forward.output")
        norm(layer.ffn.layer_norm, weights, f"{name}.feed_forward_norm")
    special = ["<s>", "<pad>", "</s>", "<unk>", "<brk>"]
    words = lambda count: special + [str(i) for i in range(len(special), count)]
    spec.register_source_vocabulary(words(config["source_vocabulary"]))
    spec.register_target_vocabulary(words(config["target_vocabulary"]))
    spec.config.unk_token = "<unk>"
    spec.config.bos_token = "<s>"
    spec.config.eos_token = "</s>"
    spec.config.decoder_start_token = "</s>"
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize()
    spec.save(out)


def check(translator, model, sentences, program):
    """Compares greedy translations of both programs and their scores."""
    pieces = json.loads((model / "tokenizer.source.json").read_text())["model"]["vocab"]
    piece = {number: text for text, number in pieces.items()}
    text = ["".join(piece[i] for i in sentence).replace("\u2581", " ").strip() for sentence in sentences]
    done = subprocess.run(
        [program, "translate", "--model", model, "--beam", "1", "--max-length", "30", "--json", "-q"],
        input="\n\n".join(text), capture_output=True, text=True, check=True,
    )
    sources = [[str(i) for i in sentence] for sentence in sentences]
    found = [answer.hypotheses[0] for answer in translator.translate_batch(sources, beam_size=1, max_decoding_length=30)]
    # Scored again: its greedy search divides by a sum over fewer words.
    theirs = translator.score_batch(sources, found)
    for line, theirs in zip(done.stdout.splitlines(), theirs):
        pairs = [(token["score"], other) for token, other in zip(json.loads(line)["tokens"], theirs.log_probs)]
        difference = max(abs(here - there) for here, there in pairs)
        print(f"{len(pairs)} words, log-probabilities differ by {difference:.6f} at most", file=sys.stderr)
        assert difference < 1e-3, "these are not the same network"


def main():
    numbers = lambda text: [int(number) for number in text.split(",")]
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="what the benchmark's --export wrote")
    parser.add_argument("--model", type=Path, help="the model directory, unless it is in the folder")
    parser.add_argument("--program", help="abridge, to compare a few translations with")
    parser.add_argument("--compute", type=lambda text: text.split(","), default=["float32", "int8"])
    parser.add_argument("--threads", type=numbers, default=[1, 2])
    parser.add_argument("--beam", type=numbers, default=[1, 5])
    parser.add_argument("--batch", type=numbers, default=[1, 32])
    options = parser.parse_args()
    model = options.model or options.folder / "model"
    data = json.loads((options.folder / "sentences.json").read_text())
    sentences = [[str(i) for i in sentence] for sentence in data["sentences"]]
    length = data["length"]
    # abridge's default, if no length is forced.
    limits = dict(max_decoding_length=200)
    if length is not None:
        limits = dict(min_decoding_length=length, max_decoding_length=length)
    with tempfile.TemporaryDirectory() as out:
        convert(model, out)
        print(f"{'program':<16} {'C':>2} {'beam':>4} {'batch':>5} {'threads':>7} {'sentences/s':>11} {'tokens/s':>9} {'CPU ms/sentence':>15}")
        settings = [
            (compute, threads, beam, batch)
            for compute in options.compute
            for threads in options.threads
            for beam in options.beam
            for batch in options.batch
        ]
        program = options.program
        for compute, threads, beam, batch in settings:
            rows = []
            # One worker per thread, or one worker with all threads: the faster counts.
            for workers in sorted({threads, 1}):
                translator = ctranslate2.Translator(
                    out, device="cpu", compute_type=compute,
                    inter_threads=workers, intra_threads=threads // workers,
                )
                if program and compute == "float32":
                    check(translator, model, data["sentences"][:5], program)
                    program = None
                translator.translate_batch(sentences[:1], beam_size=beam, **limits)
                start, cpu = time.perf_counter(), time.process_time()
                results = translator.translate_batch(
                    sentences, beam_size=beam, max_batch_size=batch, **limits
                )
                seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
                # abridge also counts the end token of each sentence.
                tokens = sum(len(result.hypotheses[0]) + 1 for result in results)
                rows.append((seconds, cpu, tokens))
            seconds, cpu, tokens = min(rows)
            print(
                f"{'ct2 ' + compute:<16} {0:>2} {beam:>4} {batch:>5} {threads:>7} "
                f"{len(sentences) / seconds:>11.1f} {tokens / seconds:>9.0f} "
                f"{1000 * cpu / len(sentences):>15.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
