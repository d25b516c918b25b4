r"""JSON lines of few shapes as whole Arrow columns: what one program writes of one kind of record differs in little but its values.

A shape is a line without its string values and integers. The first line of a shape is decoded as any JSON; of the others each byte between
the values is compared with it, and what is equal needs no parser: its values stand at known places between quotes. Whatever
does not fit is refused (`read_uniform_lines` gives None), and its reader is Arrow's, whose columns these are (a property test
holds both to the same).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.reading.byte_scan import count_below, places_of

#: Lines that are left after so many shapes have been looked at are of too many.
MOST_SHAPES = 24
#: Values that are nested more deeply are refused.
DEEPEST = 16
_NUMBER = re.compile(rb"\s*:\s*(-?(?:0|[1-9][0-9]{0,17}))(?=[\s,}\]])")
_NUMBER_TEXT = r"^-?(0|[1-9][0-9]{0,17})$"
_QUOTE, _BACKSLASH, _FIRST_PRINTABLE = 34, 92, 32
#: What a character means after a backslash; 0: nothing that is looked up here.
_UNESCAPED = np.zeros(256, np.uint8)
for _written, _meant in zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True):
    _UNESCAPED[_written] = _meant

Places = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int64]


class _UnfitError(Exception):
    """The lines are not for this reader."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A string value: the number of its place among the values of its shape."""

    value: int


@dataclass(frozen=True, slots=True)
class _Number:
    """An integer: the number of its place among the values of its shape."""

    value: int


@dataclass(slots=True)
class _Shape:
    """A decoded line, `_Text` and `_Number` in it for its values, and the bytes around these."""

    tree: Any
    columns: list[tuple[int, int, int]]
    """A value: (string that it is or follows, bytes from that string's end to a number, bytes from the number's end to the next string);
    of a string the last two are -1."""
    pieces: list[bytes]
    """What stands before each value, and after the last."""


@dataclass(frozen=True, slots=True)
class _Matched:
    """Lines of one shape, and where their values stand."""

    rows: Rows
    tree: Any
    starts: Sequence[Places]
    ends: Sequence[Places]


def read_uniform_lines(text: bytes, starts: Rows, ends: Rows, schema: pa.Schema) -> dict[str, pa.Array] | None:
    """The columns of `schema` as Arrow's JSON reader gives them, one row a line; None where the lines are not for this reader.

    Args:
        text: valid UTF-8 of less than 2 GiB; between and after the lines stand only line ends.
        starts: where the lines begin, ascending.
        ends: where they end.
        schema: strings, 64-bit integers, booleans, and structs and lists of such.
    """
    try:
        return _Lines(text, starts, ends).columns(schema)
    except _UnfitError:
        return None


class _Lines:
    def __init__(self, text: bytes, starts: Rows, ends: Rows) -> None:
        self.text = text
        self.bytes = np.frombuffer(text, np.uint8)
        self.starts = starts
        self.ends = ends
        self.escapes = self._find_escapes()
        quotes = places_of(_QUOTE, self.bytes)
        if len(self.escapes):
            quotes = quotes[~_is_among(quotes - 1, self.escapes)]
        if len(quotes) % 2:
            raise _UnfitError
        self.opens, self.closes = quotes[0::2], quotes[1::2]
        self.first = np.searchsorted(self.opens, starts).astype(np.int64)
        self.counts = np.searchsorted(self.opens, ends) - self.first
        self.values = self._patched()

    def columns(self, schema: pa.Schema) -> dict[str, pa.Array]:
        matched = list(self._match())
        groups = [(each.rows, each.tree, each) for each in matched]
        _check_keys(groups, schema)
        return {field.name: self._child(field, groups, len(self.starts)) for field in schema}

    def _match(self) -> Iterator[_Matched]:
        shapes = control = 0
        for count in np.unique(self.counts).tolist():
            left = np.flatnonzero(self.counts == count)
            while len(left):
                shapes += 1
                if shapes > MOST_SHAPES:
                    raise _UnfitError
                shape = self._shape(int(left[0]))
                matched, is_like = self._like(shape, left)
                if not is_like[0]:
                    raise _UnfitError
                control += len(matched.rows) * sum(_control(piece) for piece in shape.pieces)
                yield matched
                left = left[~is_like]
        between = len(self.text) - int((self.ends - self.starts).sum())
        if count_below(_FIRST_PRINTABLE, self.bytes) != control + between:
            raise _UnfitError  # a raw control character in a string

    def _shape(self, row: int) -> _Shape:
        start, end = int(self.starts[row]), int(self.ends[row])
        line = self.text[start:end]
        first, count = int(self.first[row]), int(self.counts[row])
        opens = (self.opens[first : first + count] - start).tolist()
        closes = (self.closes[first : first + count] - start).tolist()
        try:
            return _shape_of(line, opens, closes)
        except orjson.JSONDecodeError:
            raise _UnfitError from None

    def _like(self, shape: _Shape, rows: Rows) -> tuple[_Matched, npt.NDArray[np.bool_]]:
        """Which of some lines with equally many strings have a shape."""
        first = self.first[rows]
        line_starts, line_ends = self.starts[rows].astype(np.int32), self.ends[rows].astype(np.int32)
        starts: list[Places] = []
        ends: list[Places] = []
        for string, before, after in shape.columns:
            if before < 0:
                starts.append(self.opens[first + string] + np.int32(1))
                ends.append(self.closes[first + string])
            else:
                following = first + string + 1
                is_last = string + 1 == int(self.counts[rows[0]])
                starts.append(self.closes[first + string] + np.int32(1 + before))
                ends.append((line_ends if is_last else self.opens[following]) - np.int32(after))
        like = np.ones(len(rows), bool)
        edges = zip([line_starts, *ends], [*starts, line_ends], shape.pieces, strict=True)
        for begin, end, piece in edges:
            like &= end - begin == len(piece)
        for begin, end, column in zip(starts, ends, shape.columns, strict=True):
            if column[1] >= 0:
                like &= end > begin
        chosen = np.flatnonzero(like)
        starts, ends = _rows_of(starts, chosen), _rows_of(ends, chosen)
        equal = np.ones(len(chosen), bool)
        edges = zip([line_starts[chosen], *ends], [*starts, line_ends[chosen]], shape.pieces, strict=True)
        for begin, _, piece in edges:
            if piece:
                _keep_equal(equal, self.text, begin, piece)
        for begin, end, column in zip(starts, ends, shape.columns, strict=True):
            if column[1] >= 0:
                equal &= _numpy(pc.match_substring_regex(_gathered(self.text, begin, end, pa.string()), _NUMBER_TEXT))
        if not equal.all():
            like[chosen[~equal]] = False
            kept = np.flatnonzero(equal)
            starts, ends = _rows_of(starts, kept), _rows_of(ends, kept)
        return _Matched(rows[like], shape.tree, starts, ends), like

    def _child(self, field: pa.Field, groups: list[tuple[Rows, Any, _Matched]], count: int) -> pa.Array:
        """One field of some objects; `groups` are (which of the `count` objects, their tree, their lines)."""
        inner = [(rows, tree.get(field.name), lines) for rows, tree, lines in groups if tree is not None]
        return self._array(field.type, inner, count)

    def _array(self, kind: pa.DataType, groups: list[tuple[Rows, Any, _Matched]], count: int) -> pa.Array:
        given = [(rows, tree, lines) for rows, tree, lines in groups if tree is not None]
        if pa.types.is_string(kind):
            return self._texts(given, _Text, count)
        if pa.types.is_int64(kind):
            return self._texts(given, _Number, count).cast(pa.int64())
        if pa.types.is_boolean(kind):
            return _booleans(given, count)
        valid = np.zeros(count, bool)
        for rows, tree, _ in given:
            if type(tree) is not (dict if pa.types.is_struct(kind) else list):
                raise _UnfitError
            valid[rows] = True
        mask = None if valid.all() else pa.array(~valid)
        if pa.types.is_struct(kind):
            fields = list(kind)
            _check_keys(given, fields)
            children = [self._child(field, given, count) for field in fields]
            return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
        lengths = np.zeros(count, np.int64)
        for rows, tree, _ in given:
            lengths[rows] = len(tree)
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
        items = [
            (offsets[rows] + number, item, lines) for rows, tree, lines in given for number, item in enumerate(tree)
        ]
        if any(item is None for _, item, _ in items):
            raise _UnfitError
        values = self._array(kind.value_type, items, int(offsets[-1]))
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values, type=kind, mask=mask)

    def _texts(
        self, groups: list[tuple[Rows, Any, _Matched]], wanted: type[_Text] | type[_Number], count: int
    ) -> pa.Array:
        starts, ends = np.zeros(count, np.int32), np.zeros(count, np.int32)
        given = np.zeros(count, bool)
        for rows, tree, lines in groups:
            if not isinstance(tree, wanted):
                raise _UnfitError
            starts[rows], ends[rows] = lines.starts[tree.value], lines.ends[tree.value]
            given[rows] = True
        if given.all():
            return self._unescaped(starts, ends)
        places = np.flatnonzero(given)
        if not len(places):
            return pa.nulls(count, pa.string())
        indices = np.zeros(count, np.int32)
        indices[places] = np.arange(len(places), dtype=np.int32)
        return self._unescaped(starts[places], ends[places]).take(pa.array(indices, mask=~given))

    def _unescaped(self, starts: Places, ends: Places) -> pa.StringArray:
        """Texts of the values between some places; the backslashes in them are left out, for `values` has what they mean."""
        if not len(self.escapes) or not len(starts):
            return _gathered(self.text, starts, ends, pa.string())
        value_of = np.searchsorted(starts, self.escapes, side="right") - 1
        inside = self.escapes[(value_of >= 0) & (self.escapes < ends[np.maximum(value_of, 0)])]
        if not len(inside):
            return _gathered(self.values, starts, ends, pa.string())
        part_starts = np.sort(np.concatenate((starts, inside + np.int32(1))), kind="stable")
        part_ends = np.sort(np.concatenate((ends, inside)), kind="stable")
        parts = _gathered(self.values, part_starts, part_ends, pa.binary())
        part_offsets = np.frombuffer(parts.buffers()[1], np.int32)[: len(parts) + 1]
        offsets = np.append(part_offsets[np.searchsorted(part_starts, starts)], part_offsets[-1])
        return pa.StringArray.from_buffers(len(starts), pa.py_buffer(offsets), parts.buffers()[2])

    def _find_escapes(self) -> Places:
        """Where backslashes stand that begin an escape (of two in a row the second does not)."""
        if _BACKSLASH not in self.text:
            return np.zeros(0, np.int32)
        found = places_of(_BACKSLASH, self.bytes)
        begins_run = np.ones(len(found), bool)
        begins_run[1:] = found[1:] != found[:-1] + 1
        run_start = np.maximum.accumulate(np.where(begins_run, found, 0))
        escapes: Places = found[(found - run_start) % 2 == 0]
        return escapes

    def _patched(self) -> bytes:
        """The text with what each escape means in the place of its second byte."""
        if not len(self.escapes):
            return self.text
        inside = np.searchsorted(self.opens, self.escapes, side="right") - 1
        if (inside < 0).any() or (self.escapes > self.closes[inside]).any():
            raise _UnfitError  # a backslash outside of a string
        patched = self.bytes.copy()
        meant = _UNESCAPED[patched[self.escapes + 1]]
        if not meant.all():
            raise _UnfitError  # \u, or no escape at all
        patched[self.escapes + 1] = meant
        return bytes(patched)


def _shape_of(line: bytes, opens: list[int], closes: list[int]) -> _Shape:
    columns: list[tuple[int, int, int]] = []
    edges = [0]
    string = 0

    def visit(value: Any, depth: int = 0) -> Any:
        nonlocal string
        if depth > DEEPEST:
            raise _UnfitError
        if isinstance(value, str):
            columns.append((string, -1, -1))
            edges.extend((opens[string] + 1, closes[string]))
            string += 1
            return _Text(len(columns) - 1)
        if isinstance(value, dict):
            tree = {}
            for key, item in value.items():
                if line[opens[string] + 1 : closes[string]] != key.encode():
                    raise _UnfitError  # a repeated or escaped key
                string += 1
                tree[key] = number(item) if type(item) is int else visit(item, depth + 1)
            return tree
        if isinstance(value, list):
            return [visit(item, depth + 1) for item in value]
        if value is None or isinstance(value, bool):
            return value
        raise _UnfitError

    def number(value: int) -> _Number:
        beginning = closes[string - 1] + 1
        end = opens[string] if string < len(opens) else len(line)
        found = _NUMBER.match(line, beginning)
        if found is None or int(found.group(1)) != value:
            raise _UnfitError
        columns.append((string - 1, found.start(1) - beginning, end - found.end(1)))
        edges.extend(found.span(1))
        return _Number(len(columns) - 1)

    try:
        tree = visit(orjson.loads(line))
    except (IndexError, UnicodeEncodeError):
        raise _UnfitError from None
    if string != len(opens):
        raise _UnfitError
    edges.append(len(line))
    pieces = [line[edges[place] : edges[place + 1]] for place in range(0, len(edges), 2)]
    return _Shape(tree, columns, pieces)


def _booleans(groups: list[tuple[Rows, Any, _Matched]], count: int) -> pa.BooleanArray:
    values, missing = np.zeros(count, bool), np.ones(count, bool)
    for rows, tree, _ in groups:
        if type(tree) is not bool:
            raise _UnfitError
        values[rows] = tree
        missing[rows] = False
    return pa.array(values, mask=missing)


def _check_keys(groups: list[tuple[Rows, Any, _Matched]], fields: Iterable[pa.Field]) -> None:
    """Whether all are objects without keys that the schema has not."""
    names = {field.name for field in fields}
    if not all(isinstance(tree, dict) and tree.keys() <= names for _, tree, _ in groups):
        raise _UnfitError


def _gathered(text: bytes, starts: Places, ends: Places, kind: pa.DataType) -> pa.Array:
    """The parts of a text between ascending places, one after another."""
    if not len(starts):
        return pa.array([], kind)
    edges = np.empty(2 * len(starts), np.int32)
    edges[0::2], edges[1::2] = starts, ends
    with_gaps = pa.Array.from_buffers(kind, len(edges) - 1, [None, pa.py_buffer(edges), pa.py_buffer(text)])
    return with_gaps.take(pa.array(np.arange(0, len(edges) - 1, 2, dtype=np.int32)))


def _keep_equal(equal: npt.NDArray[np.bool_], text: bytes, starts: Places, piece: bytes) -> None:
    """Leave true what stands for a place of the text at which `piece` stands."""
    size = len(piece)
    everywhere: npt.NDArray[np.void] = np.ndarray((len(text) - size + 1,), f"V{size}", text, strides=(1,))
    found = everywhere[starts].view(np.uint8)
    if not pa.py_buffer(found).equals(pa.py_buffer(piece * len(starts))):
        equal &= (found.reshape(-1, size) == np.frombuffer(piece, np.uint8)).all(axis=1)


def _rows_of(columns: list[Places], rows: Rows) -> list[Places]:
    return columns if columns and len(rows) == len(columns[0]) else [column[rows] for column in columns]


def _is_among(values: Places, ordered: Places) -> npt.NDArray[np.bool_]:
    places = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    among: npt.NDArray[np.bool_] = ordered[places] == values
    return among


def _control(piece: bytes) -> int:
    return sum(byte < _FIRST_PRINTABLE for byte in piece)


def _numpy(mask: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    return np.asarray(mask.to_numpy(zero_copy_only=False))
