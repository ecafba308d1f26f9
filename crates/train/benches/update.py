"""A whole update in PyTorch, the published way: every context sentence is encoded again.

    python -m venv /tmp/torch && /tmp/torch/bin/pip install torch
    /tmp/torch/bin/python crates/train/benches/update.py [--size small] [--context-size 0,10]

The same sizes, sentence lengths and optimiser as `update.rs`. A training example carries its C
context sentences, and the encoder reads each slot as a separate padded batch. Only the shape of the
work is the published one: the networks are built from PyTorch's own modules. As published,
sentences of similar length are batched together to reduce padding: an update is several batches of
the sorted sentences, whose gradients are summed.
"""

import argparse
import math
import random
import resource
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn.functional import cross_entropy

SIZES = {  # width, heads, feed-forward, layers, vocabulary
    "small": (256, 4, 1024, 3, 8000),
    "base": (512, 8, 2048, 6, 19804),
}
GROUPS = 9
PAD, END = 1, 2


def sparsemax(scores):
    """Along the last axis."""
    ordered, _ = scores.sort(dim=-1, descending=True)
    ranks = torch.arange(1, scores.shape[-1] + 1)
    sums = ordered.cumsum(-1) - 1
    size = (ranks * ordered > sums).sum(-1, keepdim=True)
    return (scores - sums.gather(-1, size - 1) / size).clamp(min=0)


class DecoderLayer(nn.Module):
    def __init__(self, width, heads, hidden, with_context):
        super().__init__()
        attention = lambda: nn.MultiheadAttention(width, heads, batch_first=True)
        self.own, self.source = attention(), attention()
        self.context = attention() if with_context else None
        self.gate = nn.Linear(2 * width, width) if with_context else None
        self.feed = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(4))
        self.dropout = nn.Dropout(0.3)

    def attend(self, attention, x, memory, padding, causal=None):
        return attention(
            x, memory, memory, key_padding_mask=padding, attn_mask=causal, need_weights=False
        )[0]

    def forward(self, x, causal, source, source_padding, context, context_padding):
        x = self.norms[0](x + self.dropout(self.attend(self.own, x, x, None, causal)))
        x = self.norms[1](x + self.dropout(self.attend(self.source, x, source, source_padding)))
        if self.context is not None and context is not None:
            read = self.attend(self.context, x, context, context_padding)
            gate = torch.sigmoid(self.gate(torch.cat([x, read], -1)))
            x = self.norms[2](x + self.dropout(gate * read))
        return self.norms[3](x + self.dropout(self.feed(x)))


class Model(nn.Module):
    def __init__(self, name, preset, context):
        super().__init__()
        width, heads, hidden, layers, vocabulary = SIZES[name]
        self.preset, self.scale = preset, math.sqrt(width)
        self.source = nn.Embedding(vocabulary, width, padding_idx=PAD)
        self.target = nn.Embedding(vocabulary, width, padding_idx=PAD)
        self.positions = nn.Parameter(torch.randn(256, width) * 0.01, requires_grad=False)
        layer = nn.TransformerEncoderLayer(width, heads, hidden, 0.3, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.slots = nn.Embedding(context + 1, width)
        if preset == "grouping":
            self.scores = nn.Sequential(nn.Linear(width, 512), nn.ReLU(), nn.Linear(512, GROUPS))
            self.refine = nn.MultiheadAttention(width, heads, batch_first=True)
            self.norm = nn.LayerNorm(width)
        with_context = context > 0 or preset == "grouping"
        self.decoder = nn.ModuleList(
            DecoderLayer(width, heads, hidden, with_context) for _ in range(layers)
        )

    def encode(self, tokens):
        padding = tokens == PAD
        x = self.source(tokens) * self.scale + self.positions[: tokens.shape[1]]
        return self.encoder(nn.functional.dropout(x, 0.3), src_key_padding_mask=padding), padding

    def shorten(self, states, padding):
        if self.preset != "grouping":
            return states, padding
        weights = sparsemax(self.scores(states)).masked_fill(padding[..., None], 0)
        groups = weights.transpose(1, 2) @ states
        read = self.refine(groups, states, states, key_padding_mask=padding, need_weights=False)[0]
        groups = self.norm(groups + read)
        return groups, torch.zeros(groups.shape[:2], dtype=torch.bool)

    def forward(self, source, contexts, words):
        states, padding = self.encode(source)
        entries = [self.encode(context) for context in contexts]
        if self.preset == "grouping":
            entries.append((states, padding))
        entries = [self.shorten(*entry) for entry in entries]
        memory = memory_padding = None
        if entries:
            rows = [rows + self.slots.weight[slot] for slot, (rows, _) in enumerate(entries)]
            memory = torch.cat(rows, 1)
            memory_padding = torch.cat([padding for _, padding in entries], 1)
        x = self.target(words) * self.scale + self.positions[: words.shape[1]]
        x = nn.functional.dropout(x, 0.3)
        causal = torch.full((words.shape[1],) * 2, -math.inf).triu(1)
        for layer in self.decoder:
            x = layer(x, causal, states, padding, memory, memory_padding)
        return x @ self.target.weight.T


def sentence(draw, vocabulary):
    spread = math.log(1 + (12 / 22) ** 2)
    length = math.exp(math.log(22) - spread / 2 + math.sqrt(spread) * draw.gauss(0, 1))
    length = min(max(int(length), 2), 120)
    return [draw.randrange(5, vocabulary) for _ in range(length - 1)] + [END]


def padded(sentences):
    width = max(map(len, sentences))
    return torch.tensor([sentence + [PAD] * (width - len(sentence)) for sentence in sentences])


def row(name, preset, context, updates, sentences):
    torch.manual_seed(1)
    draw, vocabulary = random.Random(1), SIZES[name][4]
    text = [sentence(draw, vocabulary) for _ in range(context + sentences)]
    targets = [sentence(draw, vocabulary) for _ in range(sentences)]
    # By target length first: the decoder and its vocabulary are most of the work.
    order = sorted(range(sentences), key=lambda i: (len(targets[i]), len(text[context + i])))
    batches = [
        (
            padded([text[context + i] for i in group]),
            [padded([text[slot + i] for i in group]) for slot in range(context)],
            padded([[END] + targets[i][:-1] for i in group]),
            padded([targets[i] for i in group]),
        )
        for group in (order[first : first + 32] for first in range(0, sentences, 32))
    ]
    words = sum(map(len, targets))
    model = Model(name, preset, context)
    adam = torch.optim.AdamW(model.parameters(), 1e-4, (0.9, 0.98), 1e-8, weight_decay=1e-4)
    seconds = []
    for update in range(updates + 1):
        start = time.perf_counter()
        adam.zero_grad()
        for source, contexts, before, truth in batches:
            logits = model(source, contexts, before)
            loss = cross_entropy(
                logits.flatten(0, 1),
                truth.flatten(),
                ignore_index=PAD,
                label_smoothing=0.1,
                reduction="sum",
            )
            (loss / words).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        adam.step()
        if update > 0:
            seconds.append(time.perf_counter() - start)
    median = sorted(seconds)[len(seconds) // 2]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(sentences / median, words / median, peak)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", default="small,base")
    parser.add_argument("--preset", default="grouping,caching-tokens")
    parser.add_argument("--context-size", default="0,1,3,10")
    parser.add_argument("--updates", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=128)
    parser.add_argument("--row", action="store_true")
    options = parser.parse_args()
    if options.row:
        return row(
            options.size,
            options.preset,
            int(options.context_size),
            options.updates,
            options.sentences,
        )
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads")
    print(f"{options.sentences} sentences per update, each with its context encoded again")
    print(f"{'size':<6} {'preset':<15} {'C':>3} {'sent./s':>9} {'tgt tok/s':>10} {'peak MiB':>10}")
    for size in options.size.split(","):
        for preset in options.preset.split(","):
            for context in options.context_size.split(","):
                command = [sys.executable, __file__, "--row", "--size", size, "--preset", preset]
                command += ["--context-size", context, "--updates", str(options.updates)]
                command += ["--sentences", str(options.sentences)]
                output = subprocess.run(command, capture_output=True, text=True)
                if output.returncode:
                    print(f"{size:<6} {preset:<15} {context:>3} failed: {output.stderr[-200:]}")
                    continue
                speed, tokens, peak = map(float, output.stdout.split())
                print(
                    f"{size:<6} {preset:<15} {context:>3} {speed:>9.1f} {tokens:>10.0f} {peak:>10.0f}"
                )


if __name__ == "__main__":
    main()
