"""Reads the event files of a run with TensorBoard itself, and compares them with metrics.jsonl.

    python -m venv /tmp/tensorboard && /tmp/tensorboard/bin/pip install tensorboard
    /tmp/tensorboard/bin/python crates/train/tests/tensorboard/check.py runs/grouping

Exactly the values of the metrics must be there, at their steps, in single precision: also for a run
that was killed and resumed, whose later steps TensorBoard has to drop.

Recorded, a run of 100 updates with validations every 20, killed with -9 after 52 lines of metrics:

    TensorBoard 2.21.0 reads 415 values of 7 tags as written
"""

import json
import struct
import sys
from pathlib import Path

import tensorboard
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

run = Path(sys.argv[1])
accumulator = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0})
accumulator.Reload()
single = lambda value: struct.unpack("f", struct.pack("f", value))[0]

expected = {}
for line in (run / "metrics.jsonl").read_text().splitlines():
    event = json.loads(line)
    if event["event"] == "updated":
        names = {"train/" + name: event[name] for name in ("loss", "perplexity", "rate", "norm")}
    elif event["event"] == "validated":
        names = {"valid/" + name: event[name] for name in ("loss", "perplexity")}
        scores = event.get("scores", {})
        names |= {"valid/" + name.replace(" ", "_"): score for name, score in scores.items()}
    else:
        continue
    for name, value in names.items():
        expected.setdefault(name, []).append((event["update"], single(value)))

tags = set(accumulator.Tags()["scalars"]) - {"train/tokens_per_second"}
assert tags == set(expected), (tags, set(expected))
for tag, values in expected.items():
    read = [(scalar.step, scalar.value) for scalar in accumulator.Scalars(tag)]
    assert read == values, (tag, read[:3], values[:3], len(read), len(values))
count = sum(len(values) for values in expected.values())
print(f"TensorBoard {tensorboard.__version__} reads {count} values of {len(expected)} tags as written")
