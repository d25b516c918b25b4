"""`similarity`: how close the text is to the reference, by one of the field's measures, each 0..1.

| metric | definition |
|---|---|
| `levenshtein` | 1 - edits / length of the longer text, over code points (rapidfuzz) |
| `token-f1` | F1 of the words as multisets, case ignored |
| `rouge-l` | F1 of the longest common subsequence of words, case ignored, no stemming (Lin 2004) |
| `bleu` | sentence BLEU with effective order, over 100 (sacrebleu) |
| `chrf` | character n-gram F-score, over 100 (sacrebleu); `chrf++` adds words |

Words are runs of letters, digits and underscores; each ideograph and kana is a word. Two empty texts are the same, 1.0.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, ClassVar, Literal

from pydantic import Field
from rapidfuzz.distance import LCSseq, Levenshtein

from graders.json_output import without_reference
from graders.scoped_text import PlacedText, ScopedTextConfig, ScopedTextGrader
from graders.taxonomy import Taxonomy
from schemas.score import ErrorType, Score, Status, error, verdict
from schemas.trajectory import Trajectory

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_ASCII_WORD = re.compile(r"\w+", re.ASCII)
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\W{_IDEOGRAPHS}]+")
#: Bounds of one comparison: a quadratic measure passes so many pairs, a linear one so many code points, in some 50 ms.
_MOST_PAIRS = 1_000_000_000
_MOST_CODE_POINTS = 50_000


class SimilarityConfig(ScopedTextConfig):
    """Which measure, against what, and what is close enough."""

    metric: Literal["levenshtein", "token-f1", "rouge-l", "bleu", "chrf", "chrf++"]
    reference: str | None = None
    """Absent: the trajectory's reference."""
    threshold: float | None = Field(default=None, ge=0, le=1)
    """Inclusive; absent, it only scores."""
    ignore_case: bool = False
    trim_whitespace: bool = False
    on_missing_reference: Literal["error", "fail", "skip"] = "skip"


class Similarity(ScopedTextGrader[SimilarityConfig]):
    """Passes when the text is as close to the reference as `threshold` says. `bleu` and `chrf` are slow."""

    type = "similarity"
    config_model = SimilarityConfig
    taxonomy = Taxonomy(determinism="complex-static", reference="reference-based", cost="low")
    example: ClassVar[Mapping[str, Any]] = {
        "metric": "rouge-l",
        "reference": "It takes two days.",
        "threshold": 0.6,
    }

    @property
    def gives_verdict(self) -> bool:
        """Without a threshold it gives a number."""
        return self.config.threshold is not None

    def grade_text(self, placed: PlacedText, trajectory: Trajectory) -> Score:
        """Measure one text."""
        reference = self.config.reference if self.config.reference is not None else trajectory.reference
        if reference is None:
            return without_reference(self.config.on_missing_reference)
        value = similarity(self._normal(placed.text), self._normal(reference), self.config.metric)
        if value is None:
            return error(ErrorType.SCHEMA_RESOURCE_LIMIT, f"the texts are too long for {self.config.metric}")
        text = f"{self.config.metric} is {value:.4g}"
        if self.config.threshold is None:
            return Score(Status.SCORED, score=value, native_score=value, explanation=text)
        return verdict(value >= self.config.threshold, text, score=value, native_score=value)

    def _normal(self, text: str) -> str:
        text = text.strip() if self.config.trim_whitespace else text
        return text.casefold() if self.config.ignore_case else text


def similarity(text: str, reference: str, metric: str) -> float | None:
    """The measure named `metric`, 0..1; None where the texts are too long for it."""
    if metric in ("bleu", "chrf", "chrf++"):
        if len(text) + len(reference) > _MOST_CODE_POINTS:
            return None
        if not text.strip() and not reference.strip():
            return 1.0
        return min(1.0, max(0.0, float(_sentence_scorer(metric)(text, [reference]).score) / 100.0))
    if metric == "levenshtein":
        if len(text) * len(reference) > _MOST_PAIRS:
            return None
        return float(Levenshtein.normalized_similarity(text, reference))
    mine, theirs = words(text), words(reference)
    if metric == "token-f1":
        return f1(_common(mine, theirs), len(mine), len(theirs))
    if len(mine) * len(theirs) > _MOST_PAIRS:
        return None
    return f1(LCSseq.similarity(mine, theirs), len(mine), len(theirs))


def words(text: str) -> list[str]:
    """The words of a text, case folded."""
    return (_ASCII_WORD if text.isascii() else _WORD).findall(text.casefold())


def _common(mine: list[str], theirs: list[str]) -> int:
    """How many words the two share, as multisets."""
    left = Counter(theirs)
    common = 0
    for word in mine:
        if left[word] > 0:
            left[word] -= 1
            common += 1
    return common


def f1(common: int, mine: int, theirs: int) -> float:
    """2 × common / (mine + theirs); two empty sides are the same."""
    return 1.0 if mine + theirs == 0 else 2.0 * common / (mine + theirs)


@lru_cache(maxsize=3)
def _sentence_scorer(metric: str) -> Callable[[str, list[str]], Any]:
    # Imported here: it takes a tenth of a second that suites without these measures need not spend.
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    if metric == "bleu":
        scorer: Callable[[str, list[str]], Any] = BLEU(effective_order=True).sentence_score
        return scorer
    scorer = CHRF(word_order=2 if metric == "chrf++" else 0).sentence_score
    return scorer
