"""Encodes texts with Python's `tokenizers`, for the tests of the trained tokenizer.

    pip install tokenizers==0.23.3
    python make.py

Reads `tokenizer.json`, which a test compares with a freshly trained one, and writes `cases.json`: a
list of `[text, ids, decoded]`. The texts are random sequences of characters that normalisation,
word splitting and merging treat differently.
"""

import json
import pathlib
import random
import unicodedata

from tokenizers import Tokenizer

FOLDER = pathlib.Path(__file__).parent
CASES = 1500
COMMON = "abcdefghijklmnopqrstuvwxyz .,!▁<>/äß\u0308\u00a0\u00ad\u200b\u0085\t½ﬁ´\u0007漢0123456789€…–"
WORDS = ["the", "water", "kettle", "Wasser", "Kessel", "ist", "</s>", "<brk>", "<unk>", "  ", "überall"]


def printable(draw):
    while True:
        character = chr(draw.choice([draw.randrange(0x20, 0x250), draw.randrange(0x20, 0x30000)]))
        if unicodedata.category(character) not in ("Cs", "Cn", "Co", "Cc"):
            return character


def text(draw):
    kind = draw.randrange(4)
    length = draw.randrange(40)
    if kind == 0:
        return "".join(printable(draw) for _ in range(length))
    if kind == 1:
        return "".join(draw.choice(COMMON) for _ in range(length))
    if kind == 2:
        return " ".join(draw.choice(WORDS) for _ in range(length // 4))
    # Anything that is no surrogate, control characters included.
    codes = (draw.randrange(0x110000 - 0x800) for _ in range(length // 2))
    return "".join(chr(code if code < 0xD800 else code + 0x800) for code in codes)


def main():
    description = (FOLDER / "tokenizer.json").read_text()
    tokenizer = Tokenizer.from_str(description)
    # The library writes the file as abridge does, byte for byte.
    assert tokenizer.to_str(pretty=False) == description
    draw = random.Random(20240317)
    cases = []
    for _ in range(CASES):
        line = text(draw)
        ids = tokenizer.encode(line, add_special_tokens=False).ids
        cases.append([line, ids, tokenizer.decode(ids, skip_special_tokens=False)])
    rows = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (FOLDER / "cases.json").write_text(f"[\n{rows}\n]\n")


main()
