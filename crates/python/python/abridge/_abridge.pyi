"""The compiled extension; import its names from `abridge` and `abridge.evaluate`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

_Path: TypeAlias = str | PathLike[str]
_Progress: TypeAlias = Callable[[int], object]
_Pair: TypeAlias = tuple[str, str] | list[str] | Mapping[str, Any]
_Pairs: TypeAlias = Iterable[Iterable[_Pair]]
_Split: TypeAlias = tuple[_Path, _Path] | list[tuple[_Path, _Path]] | _Pairs

__all__ = [
    "Attention",
    "Comparison",
    "ConfigError",
    "ContextSentence",
    "Contrast",
    "Cxmi",
    "DataError",
    "Error",
    "Hypothesis",
    "InspectedSentence",
    "Inspection",
    "InternalError",
    "Memory",
    "MemoryAttention",
    "MetricScore",
    "ModelError",
    "Score",
    "Session",
    "Stream",
    "Trained",
    "Translation",
    "Translator",
    "__version__",
    "bleu",
    "chrf",
    "comet",
    "compare",
    "contrast",
    "cxmi",
    "import_model",
    "practice",
    "prepare",
    "ter",
    "train",
]
__version__: str

class Error(Exception): ...
class DataError(Error): ...
class ModelError(Error): ...
class ConfigError(Error): ...
class InternalError(Error): ...

@final
class Hypothesis:
    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def tokens(self) -> list[str]: ...
    @property
    def ids(self) -> NDArray[np.uint32]: ...
    @property
    def token_scores(self) -> NDArray[np.float32]: ...

@final
class Attention:
    @property
    def source(self) -> list[str]: ...
    @property
    def target(self) -> list[str]: ...
    @property
    def alignment(self) -> list[tuple[int, int]]: ...
    def memory(self) -> list[MemoryAttention]: ...

@final
class MemoryAttention:
    @property
    def distance(self) -> int: ...
    @property
    def is_translation(self) -> bool: ...
    @property
    def words(self) -> list[str]: ...
    @property
    def attention(self) -> NDArray[np.float32]: ...
    @property
    def entry_attention(self) -> NDArray[np.float32]: ...

@final
class Translation:
    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def is_cut(self) -> bool: ...
    @property
    def hypotheses(self) -> list[Hypothesis]: ...
    @property
    def attention(self) -> Attention | None: ...

@final
class Score:
    @property
    def sum(self) -> float: ...
    @property
    def mean(self) -> float: ...
    @property
    def token_scores(self) -> NDArray[np.float32]: ...

@final
class Memory:
    @property
    def tokens(self) -> list[str]: ...
    @property
    def entry(self) -> NDArray[np.float32] | None: ...
    @property
    def group_weights(self) -> NDArray[np.float32] | None: ...

@final
class Session:
    def translate(
        self,
        sentence: str,
        *,
        attention: bool = False,
        beam: int | None = None,
        n_best: int = 1,
        length_penalty: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        prefix: str | None = None,
        sample: bool = False,
        top_k: int = 0,
        top_p: float = 1.0,
        temperature: float = 1.0,
        seed: int = 1,
    ) -> Translation: ...
    def save(self) -> bytes: ...
    def restore(self, bytes: bytes) -> None: ...
    def clear(self) -> None: ...
    def memory(self) -> list[Memory]: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    @property
    def context_size(self) -> int: ...
    @property
    def sentences(self) -> int: ...

@final
class Stream(Iterator[Translation | None]):
    def __iter__(self) -> Stream: ...
    def __next__(self) -> Translation | None: ...

@final
class ContextSentence:
    @property
    def distance(self) -> int: ...
    @property
    def tokens(self) -> list[str]: ...
    @property
    def entry_attention(self) -> NDArray[np.float32]: ...
    @property
    def attention(self) -> NDArray[np.float32]: ...
    @property
    def influence(self) -> NDArray[np.float32]: ...

@final
class InspectedSentence:
    @property
    def source(self) -> str: ...
    @property
    def translation(self) -> str: ...
    @property
    def source_tokens(self) -> list[str]: ...
    @property
    def target_tokens(self) -> list[str]: ...
    @property
    def group_weights(self) -> NDArray[np.float32] | None: ...
    @property
    def context(self) -> list[ContextSentence]: ...
    def deciding(self, target: int, count: int = 5) -> list[tuple[int, str, float]]: ...
    def svg(self) -> str: ...
    def _repr_html_(self) -> str: ...

@final
class Inspection:
    @property
    def sentences(self) -> list[InspectedSentence]: ...
    def html(self) -> str: ...
    def _repr_html_(self) -> str: ...
    def __len__(self) -> int: ...
    def __getitem__(self, place: int, /) -> InspectedSentence: ...

@final
class Translator:
    def __new__(
        cls,
        path: _Path | None = None,
        *,
        to: str | None = None,
        threads: int | None = None,
        device: str = "cpu",
    ) -> Translator: ...
    @property
    def path(self) -> Path: ...
    @property
    def context_size(self) -> int: ...
    @property
    def languages(self) -> tuple[str, str] | None: ...
    @property
    def target_languages(self) -> list[str]: ...
    @property
    def hash(self) -> str: ...
    @property
    def threads(self) -> int: ...
    def translate(
        self,
        sentences: Iterable[str],
        *,
        context_size: int | None = None,
        attention: bool = False,
        progress: _Progress | None = None,
        beam: int | None = None,
        n_best: int = 1,
        length_penalty: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        prefix: str | None = None,
        sample: bool = False,
        top_k: int = 0,
        top_p: float = 1.0,
        temperature: float = 1.0,
        seed: int = 1,
    ) -> list[Translation]: ...
    def translate_documents(
        self,
        documents: Iterable[Iterable[str]],
        *,
        context_size: int | None = None,
        attention: bool = False,
        progress: _Progress | None = None,
        beam: int | None = None,
        n_best: int = 1,
        length_penalty: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        prefix: str | None = None,
        sample: bool = False,
        top_k: int = 0,
        top_p: float = 1.0,
        temperature: float = 1.0,
        seed: int = 1,
    ) -> list[list[Translation]]: ...
    def translate_file(
        self,
        path: _Path,
        output: _Path | None = None,
        *,
        context_size: int | None = None,
        progress: _Progress | None = None,
        beam: int | None = None,
        length_penalty: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        prefix: str | None = None,
        sample: bool = False,
        top_k: int = 0,
        top_p: float = 1.0,
        temperature: float = 1.0,
        seed: int = 1,
    ) -> bytes: ...
    def stream(
        self,
        sentences: Iterable[str | None],
        *,
        context_size: int | None = None,
        attention: bool = False,
        beam: int | None = None,
        n_best: int = 1,
        length_penalty: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        prefix: str | None = None,
        sample: bool = False,
        top_k: int = 0,
        top_p: float = 1.0,
        temperature: float = 1.0,
        seed: int = 1,
    ) -> Stream: ...
    def session(self, context_size: int | None = None) -> Session: ...
    def restore(self, bytes: bytes) -> Session: ...
    def score(
        self,
        source: str,
        candidates: Iterable[str],
        context: Iterable[str] | None = None,
        context_translations: Iterable[str] | None = None,
        *,
        progress: _Progress | None = None,
    ) -> list[Score]: ...
    def inspect(
        self,
        sentences: Iterable[str],
        translations: Iterable[str] | None = None,
        *,
        progress: _Progress | None = None,
        beam: int | None = None,
        length_penalty: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
    ) -> Inspection: ...

@final
class MetricScore:
    @property
    def name(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def sentences(self) -> list[float]: ...
    @property
    def signature(self) -> str: ...
    def __float__(self) -> float: ...

@final
class Comparison:
    @property
    def baseline(self) -> float: ...
    @property
    def system(self) -> float: ...
    @property
    def difference(self) -> float: ...
    @property
    def p_value(self) -> float: ...
    @property
    def signature(self) -> str: ...

_References: TypeAlias = Sequence[str | None] | Sequence[Sequence[str | None]]

def bleu(
    hypotheses: Iterable[str],
    references: _References,
    *,
    tokenize: Literal["13a", "intl", "char", "zh", "none"] = "13a",
    lowercase: bool = False,
) -> MetricScore: ...
def chrf(
    hypotheses: Iterable[str],
    references: _References,
    *,
    word_order: int = 0,
    lowercase: bool = False,
) -> MetricScore: ...
def ter(
    hypotheses: Iterable[str],
    references: _References,
    *,
    case_sensitive: bool = False,
    normalized: bool = False,
) -> MetricScore: ...
def comet(
    model: _Path,
    sources: Iterable[str],
    hypotheses: Iterable[str],
    references: Iterable[str],
    *,
    progress: _Progress | None = None,
) -> MetricScore: ...
def compare(
    baseline: Iterable[str],
    system: Iterable[str],
    references: _References,
    *,
    metric: Literal["bleu", "chrf", "ter"] = "bleu",
    test: Literal["bootstrap", "randomization"] = "bootstrap",
    samples: int | None = None,
    seed: int = 12345,
    progress: _Progress | None = None,
) -> Comparison: ...

@final
class Contrast:
    @property
    def accuracy(self) -> float: ...
    @property
    def signature(self) -> str: ...
    @property
    def rows(self) -> list[dict[str, Any]]: ...
    @property
    def items(self) -> list[dict[str, Any]]: ...

@final
class Cxmi:
    @property
    def per_sentence(self) -> float: ...
    @property
    def per_token(self) -> float: ...
    @property
    def random(self) -> float: ...
    @property
    def rows(self) -> list[dict[str, Any]]: ...
    @property
    def words(self) -> list[dict[str, Any]]: ...

def contrast(
    model: Translator,
    set: _Path,
    *,
    documents: _Path | None = None,
    languages: str | None = None,
    context_size: int | None = None,
    progress: _Progress | None = None,
) -> Contrast: ...
def cxmi(
    model: Translator,
    documents: _Pairs,
    *,
    context_size: int | None = None,
    seed: int = 1,
    progress: _Progress | None = None,
) -> Cxmi: ...
def prepare(
    output: _Path,
    *,
    train: _Split,
    valid: _Split | None = None,
    test: _Split | None = None,
    languages: str = "en-de",
    vocabulary_size: int | None = None,
    joint: bool = False,
    threads: int | None = None,
    force: bool = False,
    progress: _Progress | None = None,
) -> dict[str, Any]: ...
def practice(
    output: _Path,
    *,
    languages: str = "en-de",
    train_documents: int | None = None,
    progress: _Progress | None = None,
) -> dict[str, Any]: ...

@final
class Trained:
    @property
    def model(self) -> Path | None: ...
    @property
    def updates(self) -> int: ...
    @property
    def best_loss(self) -> float | None: ...
    @property
    def ending(self) -> Literal["limit", "patience", "stopped"]: ...

def train(
    recipe: Mapping[str, Any] | _Path,
    data: _Path,
    run: _Path,
    *,
    settings: Mapping[str, Any] | None = None,
    start_from: _Path | None = None,
    workers: int | None = None,
    force: bool = False,
    device: str = "cpu",
    on_update: Callable[[dict[str, Any]], object] | None = None,
) -> Trained: ...
def import_model(
    path: _Path,
    output: _Path,
    *,
    target_language: str | None = None,
    precision: Literal["int8", "f16", "f32"] | None = None,
    preset: str | None = None,
    context_size: int = 1,
    heads: int = 8,
    source_model: _Path | None = None,
    source_dictionary: _Path | None = None,
    target_model: _Path | None = None,
    target_dictionary: _Path | None = None,
) -> Path: ...
