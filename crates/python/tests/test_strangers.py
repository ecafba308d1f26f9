"""Models, texts and sizes that are malicious or wrong, as `cli/tests/strangers.rs` and `fuzz.rs` hand them
to the command line. Each is refused with an `abridge.Error`, never with an `InternalError`."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
from collections.abc import Callable

import pytest

import abridge

FILES = ["config.toml", "model.safetensors", "tokenizer.source.json", "tokenizer.target.json"]
MOST = 2**64 - 1


@pytest.fixture
def copy(model: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    return pathlib.Path(shutil.copytree(model, tmp_path / "model"))


def describe(model: pathlib.Path, names: list[str] = FILES) -> None:
    """Lists files in a manifest of the first format, which has no seal: anybody can write it."""
    files = {}
    for name in names:
        content = (model / name).read_bytes() if (model / name).is_file() else b""
        files[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest = {"format": 1, "tool": "somebody", "provenance": {"languages": "en-de"}, "files": files}
    (model / "MANIFEST.json").write_text(json.dumps(manifest))


def use(model: pathlib.Path) -> None:
    abridge.Translator(model, threads=1).translate(["It was old."], beam=1, max_length=3)


@pytest.mark.parametrize("name", ["../precious", "/etc/passwd", "..", "a/../../precious"])
def test_a_manifest_names_only_files_of_its_directory(copy: pathlib.Path, name: str) -> None:
    describe(copy)
    use(copy)
    describe(copy, [*FILES, name])
    with pytest.raises(abridge.ModelError, match="is not a plain file name"):
        use(copy)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("encoder_layers", 10**9),
        ("decoder_layers", 400),
        ("width", 2**62),
        ("width", 32768),
        ("max_positions", 2**63 - 1),
        ("feed_forward", 262144),
        ("source_vocabulary", 8_000_000),
        ("context_size", 2**63 - 1),
    ],
)
def test_sizes_in_a_configuration_are_not_trusted(copy: pathlib.Path, key: str, value: int) -> None:
    file = copy / "config.toml"
    lines = [f"{key} = {value}" if line.startswith(f"{key} =") else line for line in file.read_text().splitlines()]
    assert f"{key} = {value}" in lines
    file.write_text("\n".join(lines))
    describe(copy)
    with pytest.raises(abridge.ModelError):
        use(copy)


@pytest.mark.parametrize("name", ["beam", "n_best", "min_length", "max_length", "context_size"])
@pytest.mark.parametrize("value", [MOST, 2**63 - 1])
def test_sizes_in_arguments_are_not_trusted(
    translator: abridge.Translator, name: str, value: int
) -> None:
    with pytest.raises(abridge.ConfigError):
        translator.translate(["It was old."], **{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [100_000, MOST])
def test_threads_are_not_without_bounds(model: pathlib.Path, value: int) -> None:
    with pytest.raises(abridge.ConfigError):
        abridge.Translator(model, threads=value)


@pytest.mark.parametrize("value", [-1, 2**64, "five", None.__class__])
def test_values_that_are_no_sizes(translator: abridge.Translator, value: object) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        translator.translate(["It was old."], beam=value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"encoder_layers": 10**9},
        {"width": 2**62},
        {"width": 32768},
        {"max_positions": 2**63 - 1},
        {"width": None},
        {"width": float("nan")},
    ],
)
def test_sizes_in_a_recipe_are_not_trusted(
    data: pathlib.Path, tmp_path: pathlib.Path, change: dict[str, object]
) -> None:
    with pytest.raises(abridge.ConfigError):
        abridge.train({"model": {"change": change}}, data, tmp_path / "run")


def test_values_without_an_end(data: pathlib.Path, tmp_path: pathlib.Path) -> None:
    values: list[object] = []
    values.append(values)
    mapping: dict[str, object] = {}
    mapping["a"] = mapping
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    for value in (values, mapping, deep):
        with pytest.raises(abridge.ConfigError, match="nested more than 64 deep"):
            abridge.train({"a": value}, data, tmp_path / "run")
        with pytest.raises(abridge.ConfigError, match="nested more than 64 deep"):
            abridge.train({}, data, tmp_path / "run", settings={"a": value})


@pytest.mark.parametrize("value", [MOST, 2**63 - 1])
def test_more_context_than_memory(
    translator: abridge.Translator, data: pathlib.Path, value: int
) -> None:
    pairs = [("It was old.", "Es war alt.")] * 3
    with pytest.warns(UserWarning, match="was trained to look 2"), pytest.raises(abridge.Error) as raised:
        abridge.cxmi(translator, [pairs, pairs], context_size=value)
    assert not isinstance(raised.value, abridge.InternalError)


@pytest.mark.skipif(os.name != "posix", reason="FIFOs and devices are of POSIX")
@pytest.mark.parametrize("name", [*FILES, "MANIFEST.json"])
def test_special_files_are_refused(copy: pathlib.Path, name: str) -> None:
    (copy / name).unlink()
    os.mkfifo(copy / name)
    with pytest.raises(abridge.ModelError, match="is a FIFO, not a file"):
        use(copy)
    (copy / name).unlink()
    (copy / name).symlink_to("/dev/zero")
    with pytest.raises(abridge.ModelError, match="is a device, not a file"):
        use(copy)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_not_finite(copy: pathlib.Path, value: float) -> None:
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + struct.pack("<f", value))
    describe(copy)
    with pytest.raises(abridge.ModelError, match="not finite"):
        use(copy)


def test_a_checkpoint_that_names_foreign_functions(tmp_path: pathlib.Path) -> None:
    (tmp_path / "evil.pt").write_bytes(b"cos\nsystem\n(S'touch run'\ntR.")
    with pytest.raises(abridge.ModelError, match=r"os\.system"):
        abridge.import_model(tmp_path / "evil.pt", tmp_path / "m", preset="sentence", context_size=0)
    assert not (tmp_path / "run").exists() and not (tmp_path / "m").exists()


def mutated(content: bytes, number: int) -> bytes:
    """The content with some bytes flipped, left out, repeated or cut off."""
    draw = random.Random(number)
    new = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(new)) if new else 0
        kind = draw.randrange(4)
        if kind == 0 and new:
            new[at] = draw.randrange(256)
        elif kind == 1:
            del new[at : at + draw.randint(1, 64)]
        elif kind == 2:
            new[at:at] = new[at : at + draw.randint(1, 64)]
        else:
            del new[draw.randrange(len(new) + 1) :]
    return bytes(new)


def never_a_bug(work: Callable[[], object]) -> None:
    try:
        work()
    except abridge.InternalError:
        raise
    except abridge.Error as error:
        assert str(error)


@pytest.mark.parametrize("name", FILES)
def test_damaged_models_never_panic(copy: pathlib.Path, name: str) -> None:
    content = (copy / name).read_bytes()
    for number in range(25):
        (copy / name).write_bytes(mutated(content, number))
        describe(copy)
        never_a_bug(lambda: use(copy))


TEXTS = {
    "a.srt": b"1\n00:00:01,000 --> 00:00:02,000\nIt was <i>old</i>.\n\n2\n00:00:03,000 --> 00:00:04,000\nYes.\n",
    "a.vtt": b"WEBVTT\n\n00:01.000 --> 00:02.000\nIt was old.\n",
    "a.jsonl": b'{"document": "a", "source": "It was old."}\n{"document": "b", "source": "Yes."}\n',
    "a.xml": b'<?xml version="1.0"?>\n<mteval><srcset><doc id="a"><seg id="1">It was.</seg></doc></srcset></mteval>\n',
    "a.txt": "It was old.\nÄ\u2028 b\r\n\n\x00".encode(),
    "a.txt.gz": gzip.compress(b"It was old.\n" * 20),
}


@pytest.mark.parametrize("name", TEXTS)
def test_damaged_texts_never_panic(
    translator: abridge.Translator, tmp_path: pathlib.Path, name: str
) -> None:
    for number in range(40):
        (tmp_path / name).write_bytes(mutated(TEXTS[name], number))
        never_a_bug(lambda: translator.translate_file(tmp_path / name, beam=1, max_length=3))


def test_damaged_sessions_never_panic(translator: abridge.Translator) -> None:
    session = translator.session()
    session.translate("It was old.", beam=1, max_length=3)
    saved = session.save()
    for number in range(40):
        damaged = mutated(saved, number)
        never_a_bug(lambda: translator.restore(damaged))


@pytest.mark.parametrize("text", ["\x00", "\u202e", "a" * 20_000, "\n", "\r\n", "🙂" * 300, " "])
def test_strange_sentences_never_panic(translator: abridge.Translator, text: str) -> None:
    never_a_bug(lambda: translator.translate([text, text], beam=1, max_length=3, attention=True))
    never_a_bug(lambda: translator.score(text, [text, ""], [text]))
    never_a_bug(lambda: translator.inspect([text], [text[:100]]))
    never_a_bug(lambda: translator.translate(["It was old."], prefix=text, max_length=3))
    with pytest.raises(UnicodeEncodeError):
        translator.translate(["\ud800"])


PROGRAM = os.environ.get("ABRIDGE_PROGRAM", "")


@pytest.mark.skipif(not PROGRAM, reason="ABRIDGE_PROGRAM does not name the command line")
def test_the_words_are_those_of_the_command_line(
    copy: pathlib.Path, data: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pathlib.Path("bad.en").write_bytes(b"Good.\nB\xffd.\n")
    pathlib.Path("bad.srt").write_bytes(b"1\n00:00:01,000 -> 00:00:02,000\nIt was old.\n")
    pathlib.Path("two.en").write_text("Good.\nBad.\n")
    pathlib.Path("one.de").write_text("Gut.\n")
    pathlib.Path("data").symlink_to(data)
    translator = abridge.Translator("model")
    weights = (copy / "model.safetensors").read_bytes()
    shutil.copytree(copy, "damaged")
    pathlib.Path("damaged/model.safetensors").write_bytes(weights[:-1])
    cases: list[tuple[Callable[[], object], list[str], type[Exception], int]] = [
        (lambda: abridge.Translator("damaged"), ["translate", "--model", "damaged"], abridge.ModelError, 4),
        (
            lambda: translator.translate_file("bad.en"),
            ["translate", "--model", "model", "bad.en"],
            abridge.DataError,
            2,
        ),
        (
            lambda: translator.translate_file("bad.srt"),
            ["translate", "--model", "model", "bad.srt"],
            abridge.DataError,
            2,
        ),
        (
            lambda: translator.translate_file("none.en"),
            ["translate", "--model", "model", "none.en"],
            abridge.DataError,
            2,
        ),
        (
            lambda: translator.translate(["Good."], beam=2, n_best=3),
            ["translate", "--model", "model", "--beam", "2", "--n-best", "3", "two.en"],
            abridge.ConfigError,
            1,
        ),
        (
            lambda: abridge.prepare("new", train=("two.en", "one.de")),
            ["prepare", "new", "--train", "two.en,one.de"],
            abridge.DataError,
            2,
        ),
        (
            lambda: abridge.train({"model": {"preset": "gruoping"}}, "data", "run"),
            ["train", "--data", "data", "--run", "run", "--set", 'model.preset="gruoping"'],
            abridge.ConfigError,
            1,
        ),
        (
            lambda: abridge.train({}, "none", "run"),
            ["train", "--data", "none", "--run", "run"],
            abridge.DataError,
            2,
        ),
    ]
    for work, arguments, kind, code in cases:
        done = subprocess.run(
            [PROGRAM, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        with pytest.raises(kind) as raised:
            work()
        assert done.returncode == code, arguments
        assert done.stderr.strip().splitlines()[-1].removeprefix("error: ") in str(raised.value), arguments
