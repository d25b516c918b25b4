"""Compiling a pattern for its dialect, and judging texts with whichever tier may judge them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import regex

from graders.matching import charset, linear
from graders.matching.backtracking import LIMIT_CODES, BacktrackingPattern, check_compiles, judge
from graders.matching.ecma import parse_ecma
from graders.matching.errors import InvalidPattern
from graders.matching.folding import close_over_case, ecma_same_case, pcre_same_case, same_as_in_regex
from graders.matching.limits import PATTERN_SIZE, SUBJECT_SIZE, MatchLimits
from graders.matching.linear import LinearForms, linear_forms
from graders.matching.parsing import ParsedPattern
from graders.matching.pcre import parse_pcre
from graders.matching.python import NotLinear, parse_python
from graders.matching.syntax import Chars, Node, Sequence
from graders.matching.text_array import Mask, TextArray
from graders.matching.to_re2 import TextKind
from graders.matching.to_regex import to_regex

_PLAIN_FLAGS = "ims"
_NAMES = ("", *LIMIT_CODES, PATTERN_SIZE, SUBJECT_SIZE)
_CODES = {name: code for code, name in enumerate(_NAMES)}
_REGEX_FLAG_OF = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL}


class Dialect(str, Enum):
    """Whose regular expressions a pattern is written in."""

    ECMA = "ecma"
    PCRE = "pcre"
    PYTHON = "python"


class Outcome(str, Enum):
    """The verdict on one text."""

    MATCHED = "matched"
    NOT_MATCHED = "not_matched"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Match:
    """One verdict; `limit` names the limit, and the span of the first match is in code points."""

    outcome: Outcome
    limit: str | None = None
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class MatchArray:
    """One entry a text.

    Attributes:
        matched: null where the text is null or a limit stopped it.
        limit: the limit's name, or null; None when no text met a limit.
        starts: code point offset of the first match where there is one and `spans` was asked for. A span that could
            not be
            found within the limits is null although `matched` is true.
        ends: the offset behind its last code point.
    """

    matched: pa.BooleanArray
    limit: pa.Array | None = None
    starts: pa.Int64Array | None = None
    ends: pa.Int64Array | None = None


def compile(
    pattern: str,
    dialect: Dialect | str = Dialect.PYTHON,
    limits: MatchLimits | None = None,
    *,
    flags: str = "",
    literal: bool = False,
) -> Pattern:
    """A pattern that can be matched without risk.

    Args:
        pattern: source text. One that is longer than `limits.pattern_bytes` is not looked at; all its evaluations are
            the
            limit `pattern_size`.
        dialect: whose syntax and meaning it has.
        limits: at most the system's.
        flags: letters of i, m, s; for ecma also g and d, which do not change whether a text matches.
        literal: take the pattern as plain text (only i then means anything).

    Raises:
        InvalidPattern: if the dialect does not have the pattern, or this engine does not support it.
        ValueError: for an unknown dialect.
    """
    return _compiled(pattern, Dialect(dialect), limits or MatchLimits(), flags, literal, check=True)


@dataclass(frozen=True, slots=True)
class _Program:
    """What a pattern was compiled to: its linear forms, its form for `regex`, and why rows may need the latter."""

    forms: LinearForms | None
    backtracking: BacktrackingPattern
    tier: str
    tier_reason: str


class Pattern:
    """A compiled pattern. Equal, hashed and pickled by what it was compiled from."""

    __slots__ = ("_program", "dialect", "flags", "limits", "literal", "pattern")

    def __init__(
        self, pattern: str, dialect: Dialect, limits: MatchLimits, flags: str, literal: bool, program: _Program | None
    ) -> None:
        self.pattern = pattern
        self.dialect = dialect
        self.limits = limits
        self.flags = flags
        self.literal = literal
        self._program = program

    @property
    def tier(self) -> str:
        """`linear` if no text within the limits needs to backtrack, `backtracking` if all do, else `mixed`."""
        return "linear" if self._program is None else self._program.tier

    @property
    def tier_reason(self) -> str:
        """Which texts backtrack, and why."""
        if self._program is None:
            return "the pattern is longer than its limit, so no text is judged"
        return self._program.tier_reason

    def _identity(self) -> tuple[object, ...]:
        return self.pattern, self.dialect, self.limits, self.flags, self.literal

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, self._identity()

    def __repr__(self) -> str:
        return f"Pattern({self.pattern!r}, {self.dialect.value!r}, flags={self.flags!r}, literal={self.literal})"

    def match_text(self, text: str) -> Match:
        """The verdict on one text, with the first span. Lone surrogates count as U+FFFD."""
        encoded = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _surrogates(text) else text
        judged = self.match_array(pa.array([encoded], pa.large_string()), spans=True)
        matched = judged.matched[0].as_py()
        if matched is None:
            return Match(Outcome.LIMIT, limit=judged.limit[0].as_py() if judged.limit is not None else None)
        if not matched or judged.starts is None or judged.ends is None:
            return Match(Outcome.NOT_MATCHED)
        return Match(Outcome.MATCHED, start=judged.starts[0].as_py(), end=judged.ends[0].as_py())

    def match_array(
        self, texts: pa.StringArray | pa.LargeStringArray | pa.ChunkedArray, *, spans: bool = False
    ) -> MatchArray:
        """The verdict on every text; null for null. Blocks other Python threads only between Arrow calls."""
        chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
        parts = [self._match_chunk(TextArray(chunk), spans) for chunk in chunks if len(chunk)]
        return parts[0] if len(parts) == 1 else _concatenated(parts, spans)

    def _match_chunk(self, texts: TextArray, spans: bool) -> MatchArray:
        if self._program is None:
            codes = np.where(texts.present(), _CODES[PATTERN_SIZE], 0).astype(np.uint8)
            return _Verdicts(texts, spans, codes).finished()
        lengths = texts.lengths
        longest = int(lengths.max())
        form = self._one_form_for_all(texts, longest)
        if form is not None and not spans:
            return MatchArray(linear.match(form, texts.array))
        verdicts = _Verdicts(texts, spans, (lengths > self.limits.subject_bytes) * np.uint8(_CODES[SUBJECT_SIZE]))
        left = verdicts.open_rows()
        early = self._program.forms is not None and self._program.forms.needs.ascii_words
        if early:
            self._sieve(texts, left, ~texts.ascii_rows)
        for kind, form, rows in self._linear_rows(texts, lengths, left):
            self._run_linear(verdicts, form, rows, kind)
            left[rows] = False
        self._sieve(texts, left, texts.ascii_rows if early else left)
        self._backtrack(verdicts, np.flatnonzero(left), stopped_keep_match=False)
        if spans:
            self._backtrack(verdicts, verdicts.rows_without_span(), stopped_keep_match=True)
        return verdicts.finished()

    def _one_form_for_all(self, texts: TextArray, longest: int) -> linear.LinearForm | None:
        """The form that may judge every row, if that needs no look at the rows."""
        assert self._program is not None
        forms = self._program.forms
        if forms is None or forms.needs.final_newline or forms.needs.plain_line_ends:
            return None
        in_ascii = forms.needs.ascii and texts.all_ascii
        kind = TextKind(in_ascii, final_newline=False, ascii_words=in_ascii)
        form = forms.forms.get(kind)
        return form if form and longest <= min(form.most_bytes, self.limits.subject_bytes) else None

    def _linear_rows(
        self, texts: TextArray, lengths: npt.NDArray[np.int64], left: Mask
    ) -> Iterator[tuple[TextKind, linear.LinearForm, npt.NDArray[np.int64]]]:
        assert self._program is not None
        forms = self._program.forms
        if forms is None or not forms.forms:
            return
        nothing = np.zeros(len(texts), np.bool_)
        in_ascii = texts.ascii_rows if forms.needs.ascii else nothing
        ended = texts.ends_with_newline() if forms.needs.final_newline else nothing
        told_apart = forms.needs.ascii_words and forms.general_reach() < int(lengths.max())
        plain = texts.ascii_word_rows(left) if told_apart else in_ascii
        allowed = left & ~texts.has_other_line_ends() if forms.needs.plain_line_ends else left
        for kind, form in forms.forms.items():
            mask = allowed & (in_ascii == kind.ascii) & (ended == kind.final_newline) & (plain == kind.ascii_words)
            rows = np.flatnonzero(mask & (lengths <= form.most_bytes))
            if len(rows):
                yield kind, form, rows

    def _run_linear(
        self, verdicts: _Verdicts, form: linear.LinearForm, rows: npt.NDArray[np.int64], kind: TextKind
    ) -> None:
        texts = verdicts.texts
        matched = np.asarray(linear.match(form, texts.rows(rows)))
        verdicts.matched[rows] = matched
        assert self._program is not None
        assert self._program.forms is not None
        if not verdicts.spans_wanted or not self._program.forms.needs.spans or kind.final_newline:
            return
        hits = rows[matched.astype(np.bool_)]
        hits = hits[texts.lengths[hits] <= form.most_bytes_for_spans]
        if len(hits):
            spans = linear.byte_spans(form, texts.rows(hits))
            verdicts.starts[hits], verdicts.ends[hits] = texts.code_points(hits, *spans)

    def _sieve(self, texts: TextArray, left: Mask, among: Mask) -> None:
        """Take the rows from `left` that are `among` those asked for and certainly do not match."""
        assert self._program is not None
        form = self._program.forms.sieve if self._program.forms is not None else None
        if form is None:
            return
        rows = np.flatnonzero(left & among & (texts.lengths <= form.most_bytes))
        if len(rows):
            left[rows] = np.asarray(linear.match(form, texts.rows(rows)))

    def _backtrack(self, verdicts: _Verdicts, rows: npt.NDArray[np.int64], *, stopped_keep_match: bool) -> None:
        if not len(rows):
            return
        assert self._program is not None
        judged = judge(self._program.backtracking, verdicts.texts.texts(rows), spans=verdicts.spans_wanted)
        free = judged.limit == 0
        if judged.spans is not None:
            hits = free & judged.matched
            verdicts.starts[rows[hits]] = judged.spans[hits, 0]
            verdicts.ends[rows[hits]] = judged.spans[hits, 1]
        if not stopped_keep_match:
            verdicts.matched[rows] = judged.matched
            verdicts.codes[rows] = judged.limit


class _Verdicts:
    """The columns of one chunk while they are being filled; -1 is no span."""

    def __init__(self, texts: TextArray, spans_wanted: bool, codes: npt.NDArray[np.uint8]) -> None:
        self.texts = texts
        self.spans_wanted = spans_wanted
        self.codes = codes
        self.present = texts.present()
        self.matched = np.zeros(len(texts), np.bool_)
        self.starts = np.full(len(texts), -1, np.int64)
        self.ends = np.full(len(texts), -1, np.int64)

    def open_rows(self) -> Mask:
        return np.asarray(self.present & (self.codes == 0))

    def rows_without_span(self) -> npt.NDArray[np.int64]:
        return np.flatnonzero(self.open_rows() & self.matched & (self.starts < 0))

    def finished(self) -> MatchArray:
        stopped = self.codes != 0
        matched = pa.array(self.matched, pa.bool_(), mask=~self.present | stopped)
        limit = None
        if stopped.any():
            names = pa.DictionaryArray.from_arrays(pa.array(self.codes, pa.int8(), mask=~stopped), pa.array(_NAMES))
            limit = names.cast(pa.string())
        if not self.spans_wanted:
            return MatchArray(matched, limit)
        no_span = (self.starts < 0) | ~self.matched | stopped
        return MatchArray(
            matched,
            limit,
            pa.array(self.starts, pa.int64(), mask=no_span),
            pa.array(self.ends, pa.int64(), mask=no_span),
        )


def _concatenated(parts: list[MatchArray], spans: bool) -> MatchArray:
    def joined(arrays: list[pa.Array], kind: pa.DataType) -> pa.Array:
        return pa.concat_arrays(arrays) if arrays else pa.array([], kind)

    limit = None
    if any(part.limit is not None for part in parts):
        limit = joined(
            [pa.nulls(len(part.matched), pa.string()) if part.limit is None else part.limit for part in parts],
            pa.string(),
        )
    matched = joined([part.matched for part in parts], pa.bool_())
    if not spans:
        return MatchArray(matched, limit)
    return MatchArray(
        matched,
        limit,
        joined([part.starts for part in parts], pa.int64()),
        joined([part.ends for part in parts], pa.int64()),
    )


def _surrogates(text: str) -> bool:
    return regex.search(r"[\ud800-\udfff]", text) is not None


def _restored(pattern: str, dialect: Dialect, limits: MatchLimits, flags: str, literal: bool) -> Pattern:
    return _compiled(pattern, dialect, limits, flags, literal, check=False)


@lru_cache(maxsize=512)
def _compiled(
    pattern: str, dialect: Dialect, limits: MatchLimits, flags: str, literal: bool, *, check: bool
) -> Pattern:
    plain_flags = _checked_flags(flags, dialect)
    if len(pattern.encode("utf-8", "surrogatepass")) > limits.pattern_bytes:
        return Pattern(pattern, dialect, limits, flags, literal, None)
    parsed, reason = (
        (_literal(pattern, dialect, plain_flags), "") if literal else _parsed(pattern, dialect, plain_flags)
    )
    if dialect is Dialect.PYTHON:
        text = regex.escape(pattern) if literal else pattern
        number = sum(_REGEX_FLAG_OF[letter] for letter in plain_flags) | regex.VERSION0
    else:
        assert parsed is not None
        text, number = to_regex(parsed, unset_is_empty=dialect is Dialect.ECMA), regex.VERSION0 | regex.ASCII
    backtracking = BacktrackingPattern(text, int(number), limits)
    forms = linear_forms(parsed.root, limits.cpu_ms) if parsed is not None else None
    program = _program(forms, reason, backtracking, limits)
    if check and program.tier == "backtracking":
        check_compiles(backtracking)
    return Pattern(pattern, dialect, limits, flags, literal, program)


def _checked_flags(flags: str, dialect: Dialect) -> str:
    for letter in flags:
        if letter in _PLAIN_FLAGS or (dialect is Dialect.ECMA and letter in "gd"):
            continue
        known = dialect is Dialect.ECMA and letter in "uvy"
        what = f"not supported: the flag {letter}" if known else f"unknown flag {letter!r} for {dialect.value}"
        raise InvalidPattern(what, 0, supported=not known)
    if len(set(flags)) != len(flags):
        raise InvalidPattern("a repeated flag", 0)
    return "".join(letter for letter in flags if letter in _PLAIN_FLAGS)


def _parsed(pattern: str, dialect: Dialect, flags: str) -> tuple[ParsedPattern | None, str]:
    if dialect is Dialect.ECMA:
        return parse_ecma(pattern, flags), ""
    if dialect is Dialect.PCRE:
        return parse_pcre(pattern, flags), ""
    try:
        return parse_python(pattern, flags), ""
    except NotLinear as only_regex:
        return None, str(only_regex)


def _literal(pattern: str, dialect: Dialect, flags: str) -> ParsedPattern:
    items: list[Node] = []
    for character in pattern:
        alone = charset.of(ord(character))
        if "i" not in flags:
            items.append(Chars(alone))
        elif dialect is Dialect.PYTHON:
            items.append(Chars(same_as_in_regex(character)))
        else:
            items.append(
                Chars(close_over_case(alone, ecma_same_case() if dialect is Dialect.ECMA else pcre_same_case()))
            )
    return ParsedPattern(Sequence(tuple(items)), 0)


def _program(
    forms: LinearForms | None, reason: str, backtracking: BacktrackingPattern, limits: MatchLimits
) -> _Program:
    if forms is None or not forms.forms:
        why = reason if forms is None else next(iter(forms.reasons.values()))
        if forms is not None and forms.sieve is not None:
            why += " (those first pass a wider pattern in RE2)"
        return _Program(forms, backtracking, "backtracking", f"all texts: {why}")
    exceptions = [f"{_described(kind, forms)}: {why}" for kind, why in forms.reasons.items()]
    for kind, form in forms.forms.items():
        if form.most_bytes < limits.subject_bytes:
            exceptions.append(
                f"{_described(kind, forms)} over {form.most_bytes} bytes: RE2's worst case exceeds the budget"
            )
    if forms.needs.plain_line_ends:
        exceptions.append("texts with CR, U+2028 or U+2029: RE2's line anchors know LF only")
    if not exceptions:
        return _Program(forms, backtracking, "linear", "all texts run in RE2")
    return _Program(forms, backtracking, "mixed", "RE2, but regex for " + "; ".join(exceptions))


def _described(kind: TextKind, forms: LinearForms) -> str:
    words = ["ASCII texts" if kind.ascii else "non-ASCII texts"] if forms.needs.ascii else ["texts"]
    if forms.needs.ascii_words and not kind.ascii:
        words.append("without word characters beyond ASCII" if kind.ascii_words else "with word characters beyond it")
    if forms.needs.final_newline:
        words.append("that end with a newline" if kind.final_newline else "that do not end with a newline")
    return " ".join(words)
