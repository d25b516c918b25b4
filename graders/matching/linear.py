"""The linear tier: whole Arrow arrays through RE2 inside `pyarrow.compute`, which releases the GIL."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graders.matching import cost
from graders.matching.needles import Needle, candidates, needles
from graders.matching.other_words import without_other_words
from graders.matching.sieve import sieve
from graders.matching.syntax import Capture, Chars, Choice, Node, Repeat, Sequence, widths
from graders.matching.text_array import TextArray
from graders.matching.to_re2 import Needs, OnlyBacktracking, TextKind, needs, to_re2

_SPAN = "span"
_MOST_LITERALS = 8
_SHORT_LITERAL = 256
"""Alternatives up to this length are better off in RE2, which looks for all of them at once."""
_LONGEST_LITERAL = 4096


@dataclass(frozen=True, slots=True)
class LinearForm:
    """One RE2 pattern and the longest text, in bytes, that it may be given; for spans that is another length.

    Attributes:
        pattern: in RE2's syntax; not used where there are `literals`.
        most_bytes: the longest text for a verdict.
        most_bytes_for_spans: the longest text for a span.
        literals: plain texts instead, searched for without RE2; the first of them goes first where two begin together.
        needles: what every match holds, if looking for it first is worth while.
    """

    pattern: str
    most_bytes: int
    most_bytes_for_spans: int
    literals: tuple[str, ...] = ()
    needles: tuple[Needle, ...] = ()


@dataclass(frozen=True, slots=True)
class LinearForms:
    """The RE2 patterns of one tree by kind of text, what tells the kinds apart, and why a kind has none.

    Where the sieve, if there is one, does not match, neither does the tree, whatever the kind of text.
    """

    needs: Needs
    forms: dict[TextKind, LinearForm]
    reasons: dict[TextKind, str]
    sieve: LinearForm | None = None

    def general_reach(self) -> int:
        """The longest text, in bytes, of which nothing but its end need be known; 0 where more must be known of all."""
        general = [self.forms.get(kind) for kind in self.needs.kinds() if not (kind.ascii or kind.ascii_words)]
        return min(0 if form is None else form.most_bytes for form in general)


def linear_forms(root: Node, budget_ms: float) -> LinearForms:
    """Every RE2 pattern of the tree whose evaluation can be kept within `budget_ms`."""
    texts = _plain_texts(root)
    if texts and all(texts):
        anywhere = TextKind(ascii=False, final_newline=False, ascii_words=False)
        return LinearForms(Needs(False, False, False, True), {anywhere: _plain_form(texts, budget_ms)}, {})
    needed = needs(root)
    forms: dict[TextKind, LinearForm] = {}
    reasons: dict[TextKind, str] = {}
    for kind in needed.kinds():
        try:
            forms[kind] = _form(root, kind, budget_ms)
        except OnlyBacktracking as only:
            reasons[kind] = str(only)
    needs_sieve = bool(reasons) or needed.plain_line_ends
    return LinearForms(needed, forms, reasons, _sieve_form(root, budget_ms) if needs_sieve else None)


def _sieve_form(root: Node, budget_ms: float) -> LinearForm | None:
    """A form that may match too much, or None if there is none or it would match everywhere."""
    wider = sieve(root)
    if widths(wider)[0] == 0:
        return None
    try:
        return _form(wider, TextKind(ascii=False, final_newline=False, ascii_words=False), budget_ms)
    except OnlyBacktracking:
        return None


def _plain_texts(node: Node) -> tuple[str, ...] | None:
    """The few texts, in the order of preference, that are all that `node` matches; None if there are others."""
    if isinstance(node, Choice) and len(node.branches) <= _MOST_LITERALS:
        branches = [_plain_text(branch) for branch in node.branches]
        texts = tuple(branch for branch in branches if branch is not None)
        return texts if len(texts) == len(branches) and max(map(len, texts)) > _SHORT_LITERAL else None
    text = _plain_text(node)
    return None if text is None else (text,)


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
        case Repeat(item, least, most, _) if least == most:
            text = _plain_text(item)
            return None if text is None or len(text) * least > _LONGEST_LITERAL else text * least
        case _:
            return None


def _plain_form(texts: tuple[str, ...], budget_ms: float) -> LinearForm:
    most_bytes = int(budget_ms * 1_000_000 / (len(texts) * cost.NANOSECONDS_PER_BYTE))
    return LinearForm("", most_bytes, most_bytes, literals=texts)


def _form(root: Node, kind: TextKind, budget_ms: float) -> LinearForm:
    if kind.ascii_words and not kind.ascii:
        root = without_other_words(root)
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
    most_bytes_for_spans = int(budget_ms * 1_000_000 / (size * cost.NANOSECONDS_PER_SPAN_INSTRUCTION))
    return LinearForm(pattern, most_bytes, most_bytes_for_spans, needles=needles(root, ascii_only=kind.ascii))


def match(form: LinearForm, texts: pa.Array) -> pa.BooleanArray:
    """Whether each text matches; null for null."""
    if form.literals:
        return reduce(pc.or_, (pc.match_substring(texts, literal) for literal in form.literals))
    if form.needles:
        holding = candidates(form.needles, array := TextArray(texts))
        if holding is not None:
            verdicts = np.zeros(len(array), np.bool_)
            if len(holding):
                judged = pc.match_substring_regex(texts.take(pa.array(holding)), form.pattern)
                verdicts[holding] = np.asarray(judged.fill_null(False))
            return pa.array(verdicts, pa.bool_(), mask=None if texts.null_count == 0 else ~array.present())
    return pc.match_substring_regex(texts, form.pattern)


def byte_spans(form: LinearForm, texts: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Byte offsets of the first match of each text, all of which are known to match."""
    if form.literals:
        return _literal_spans(form.literals, texts)
    found = pc.extract_regex_span(texts, f"(?P<{_SPAN}>{form.pattern})")
    pairs = np.asarray(found.field(_SPAN).flatten().cast(pa.int64())).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 0] + pairs[:, 1]


def _literal_spans(literals: tuple[str, ...], texts: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    found = np.stack([np.asarray(pc.find_substring(texts, literal)).astype(np.int64) for literal in literals])
    found[found < 0] = np.iinfo(np.int64).max
    first = found.argmin(axis=0)
    starts = found[first, np.arange(len(texts))]
    lengths = np.array([len(literal.encode()) for literal in literals], np.int64)
    return starts, starts + lengths[first]
