"""Context-aware machine translation with a short, learned memory.

>>> import abridge
>>> abridge.evaluate.bleu(["The cat sat on a mat."], ["The cat sat on the mat."]).score > 40
True
"""

from . import evaluate
from ._abridge import (
    Attention,
    ConfigError,
    ContextSentence,
    Contrast,
    Cxmi,
    DataError,
    Error,
    Hypothesis,
    InspectedSentence,
    Inspection,
    InternalError,
    Memory,
    MemoryAttention,
    ModelError,
    Score,
    Session,
    Stream,
    Trained,
    Translation,
    Translator,
    __version__,
    contrast,
    cxmi,
    import_model,
    practice,
    prepare,
    train,
)

__all__ = [
    "Attention",
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
    "ModelError",
    "Score",
    "Session",
    "Stream",
    "Trained",
    "Translation",
    "Translator",
    "__version__",
    "contrast",
    "cxmi",
    "evaluate",
    "import_model",
    "practice",
    "prepare",
    "train",
]
