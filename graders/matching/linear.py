"""The linear tier: whole Arrow arrays through RE2 inside `pyarrow.compute`, which releases the GIL."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graders.matching import cost
from graders.matching.syntax import Capture, Chars, Node, Sequence
from graders.matching.to_re2 import Needs, OnlyBacktracking, TextKind, needs, to_re2

_SPAN = "span"


@dataclass(frozen=True, slots=True)
class LinearForm:
    """One RE2 pattern and the longest text, in bytes, that it may be given; for spans that is another length.

    A `literal` form is plain text instead, searched for without RE2.
    """

    pattern: str
    most_bytes: int
    most_bytes_for_spans: int
    literal: bool = False


@dataclass(frozen=True, slots=True)
class LinearForms:
    """The RE2 patterns of one tree by kind of text, what tells the kinds apart, and why a kind has none."""

    needs: Needs
    forms: dict[TextKind, LinearForm]
    reasons: dict[TextKind, str]

    def distinct(self) -> list[TextKind]:
        """The kinds of text that have to be told apart."""
        return list(self.forms) + list(self.reasons)


def linear_forms(root: Node, budget_ms: float) -> LinearForms:
    """Every RE2 pattern of the tree whose evaluation can be kept within `budget_ms`."""
    needed = needs(root)
    forms: dict[TextKind, LinearForm] = {}
    reasons: dict[TextKind, str] = {}
    text = _plain_text(root)
    if text:
        return LinearForms(Needs(False, False, False, True), {TextKind(False, False): _plain_form(text, budget_ms)}, {})
    for ascii_only in (True, False) if needed.ascii else (False,):
        for final_newline in (False, True) if needed.final_newline else (False,):
            kind = TextKind(ascii_only, final_newline)
            try:
                forms[kind] = _form(root, kind, budget_ms)
            except OnlyBacktracking as only:
                reasons[kind] = str(only)
    return LinearForms(needed, forms, reasons)


def _plain_text(node: Node) -> str | None:
    """The one text that `node` matches, or None if there are others or conditions."""
    match node:
        case Chars(((low, high),)) if low == high and not 0xD800 <= low <= 0xDFFF:
            return chr(low)
        case Sequence(items):
            parts = [_plain_text(item) for item in items]
            return None if None in parts else "".join(part for part in parts if part)
        case Capture(item=item):
            return _plain_text(item)
        case _:
            return None


def _plain_form(text: str, budget_ms: float) -> LinearForm:
    most_bytes = int(budget_ms * 1_000_000 / cost.NANOSECONDS_PER_BYTE)
    return LinearForm(text, most_bytes, most_bytes, literal=True)


def _form(root: Node, kind: TextKind, budget_ms: float) -> LinearForm:
    size = cost.program_size(root, ascii_only=kind.ascii)
    if size > cost.MOST_INSTRUCTIONS:
        raise OnlyBacktracking("the pattern is too large for RE2")
    pattern = to_re2(root, kind)
    most_bytes = cost.longest_text(root, budget_ms, ascii_only=kind.ascii)
    if most_bytes < 1:
        raise OnlyBacktracking("RE2's worst case exceeds the budget on any text")
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid:
        raise OnlyBacktracking("RE2 does not compile the pattern within its memory") from None
    return LinearForm(pattern, most_bytes, int(budget_ms * 1_000_000 / (size * cost.NANOSECONDS_PER_SPAN_INSTRUCTION)))


def match(form: LinearForm, texts: pa.Array) -> pa.BooleanArray:
    """Whether each text matches; null for null."""
    return (pc.match_substring if form.literal else pc.match_substring_regex)(texts, form.pattern)


def byte_spans(form: LinearForm, texts: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Byte offsets of the first match of each text, all of which are known to match."""
    if form.literal:
        starts = np.asarray(pc.find_substring(texts, form.pattern)).astype(np.int64)
        return starts, starts + len(form.pattern.encode())
    found = pc.extract_regex_span(texts, f"(?P<{_SPAN}>{form.pattern})")
    pairs = np.asarray(found.field(_SPAN).flatten().cast(pa.int64())).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 0] + pairs[:, 1]
