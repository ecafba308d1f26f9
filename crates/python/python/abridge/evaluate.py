"""Metrics: BLEU, chrF and TER with sacreBLEU's numbers and signatures, COMET, significance.

>>> from abridge import evaluate
>>> score = evaluate.bleu(["The cat sat on a mat.", "It slept."],
...                       ["The cat sat on the mat.", "It slept."])
>>> f"{score.score:.1f}"
'53.9'
>>> score.signature
'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0'
"""

from ._abridge import Comparison, MetricScore, bleu, chrf, comet, compare, ter

__all__ = ["Comparison", "MetricScore", "bleu", "chrf", "comet", "compare", "ter"]
