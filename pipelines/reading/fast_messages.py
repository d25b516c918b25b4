"""Plain `messages` records as whole Arrow columns: what `pipelines.formats.containers.messages` says of them, without an object a record.

Arrow's JSON reader takes an explicit schema and refuses everything else (unknown keys, duplicate keys, other types, broken text), so what
it accepts, it read exactly. A piece it refuses, or that needs a rule beyond the plain ones, is left to the container (`parse` gives
None). A property test holds both to the same trajectories.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from pipelines.formats.container import Container
from pipelines.formats.containers import messages as rules
from pipelines.formats.dialects.conversation import (
    FIELD,
    LAST_ASSISTANT_MESSAGE,
    LAST_ASSISTANT_TEXT,
    NO_FINAL_TEXT,
    ROLES,
)
from pipelines.formats.values import parse_time
from pipelines.identity import trajectory_uids
from pipelines.reading import fast_conversation
from pipelines.reading.fast_conversation import FastConversations
from pipelines.reading.uniform_lines import DEEPEST, read_uniform_lines
from schemas.tables import TIMESTAMP
from schemas.trajectory_batch import TRAJECTORY_BATCH, USAGE_FIELDS

_SAMPLE_LINES = 24
#: Of the sampled lines; where there are more, a try to read all as lines of few shapes is likely lost.
_FEW_SHAPES = 8
_SMALLEST_UNIFORM = 256
_LINE_ENDS = (b"", b"\n", b"\r\n")
_USAGE = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens", "total_tokens": None}
_SCALARS: dict[type, pa.DataType] = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), type(None): pa.string()}
#: Top-level keys whose rules are the container's alone.
_SLOW_KEYS = (rules.NOT_METADATA | {"system", "conversations", "conversation"}) - {"messages", "usage", "tools"}
_ISO_TIME = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)$"

_NO_TEXT = pa.scalar(None, pa.string())

Lines = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FastMessages:
    """The plain records of one chunk of lines: their keys and types, as told from a sample of its lines."""

    source_format: str
    schema: pa.Schema
    scalars: tuple[str, ...]
    """Top-level keys of scalar values, in order."""
    metadata: tuple[str, ...]
    """Keys of scalars in the object `metadata`."""
    uniform: bool = False
    """Whether the sampled lines are of few shapes."""

    @classmethod
    def for_lines(cls, data: bytes, starts: Lines, ends: Lines, container: Container) -> FastMessages | None:
        """How to read the chunk's plain records; None where its records are not plain, or not of this container."""
        if type(container) is not rules.Messages or not len(starts):
            return None
        scalars: dict[str, pa.DataType] = {}
        metadata: dict[str, pa.DataType] = {}
        plain = 0
        shapes = set()
        picks = np.unique(np.linspace(0, len(starts) - 1, _SAMPLE_LINES).astype(int)).tolist()
        for number in picks:
            try:
                value = orjson.loads(data[int(starts[number]) : int(ends[number])])
            except orjson.JSONDecodeError:
                continue
            plain += isinstance(value, dict) and _learn(value, scalars, metadata)
            shapes.add(_shape(value))
        if plain * 2 < len(picks) or scalars.keys() & metadata.keys():
            return None
        fields = [pa.field("messages", fast_conversation.LOG_MESSAGES)]
        fields += [pa.field(key, kind) for key, kind in scalars.items()]
        fields.append(pa.field("usage", pa.struct([(key, pa.int64()) for key in _USAGE])))
        if metadata:
            fields.append(pa.field("metadata", pa.struct(list(metadata.items()))))
        uniform = len(shapes) <= _FEW_SHAPES
        return cls(container.name, pa.schema(fields), tuple(scalars), tuple(metadata), uniform)

    def parse(self, data: bytes, starts: Lines, ends: Lines, uri: str, offset: int) -> pa.RecordBatch | None:
        """The trajectories of lines that stand one after another, one a line; None where they are not all plain.

        Args:
            data: the chunk.
            starts: where in `data` the lines begin, ascending.
            ends: where they end.
            uri: the source.
            offset: where the chunk begins in the decompressed stream.
        """
        first, last = int(starts[0]), int(ends[-1])
        # Where the lines are all of the data, it is taken as it is: a copy of some megabytes would be for nothing.
        text = data if first == 0 and data[last : last + 3] in _LINE_ENDS else data[first:last]
        if not _is_utf8(text):
            return None
        columns = self._columns(text, starts - first, ends - first)
        if columns is None:
            return None
        conversations = FastConversations.of(columns["messages"])
        usage = columns["usage"]
        if conversations is None or not _usage_is_plain(usage):
            return None
        return self._batch(columns, conversations, uri, starts + offset, ends - starts)

    def _columns(self, text: bytes, starts: Lines, ends: Lines) -> dict[str, pa.Array] | None:
        if self.uniform and len(starts) >= _SMALLEST_UNIFORM:
            columns = read_uniform_lines(text, starts, ends, self.schema)
            if columns is not None:
                return columns
        table = read_with_arrow(text, self.schema)
        if table is None or table.num_rows != len(starts):
            return None
        return {name: table[name].combine_chunks() for name in table.column_names}

    def _batch(
        self,
        columns: Mapping[str, pa.Array],
        conversations: FastConversations,
        uri: str,
        offsets: Lines,
        sizes: Lines,
    ) -> pa.RecordBatch | None:
        count = len(offsets)
        facts = _Facts(columns, self.scalars, count)
        event_time, time_issues = _times(facts.first(rules.TIME_KEYS, _is_time))
        identity = facts.first(rules.ID_KEYS, _is_id)
        missing = np.flatnonzero(identity.is_null().to_numpy(zero_copy_only=False))
        if len(missing):
            if "id" in self.metadata:
                return None
            addresses = pa.array([f"{uri}#{offsets[row]}" for row in missing.tolist()], pa.string())
            identity = pc.replace_with_mask(identity, identity.is_null(), addresses)
        group = facts.first(rules.GROUP_KEYS, _is_id, again=True)
        parent = facts.first(rules.PARENT_KEYS, _is_id, again=True)
        model = facts.first(rules.MODEL_KEYS, _is_name)
        agent = facts.first(rules.AGENT_KEYS, _is_name)
        given_input = facts.first(rules.INPUT_KEYS, _is_text)
        given_output = facts.first(rules.OUTPUT_KEYS, _is_text)
        reference = facts.first(rules.REFERENCE_KEYS, _is_reference)
        output = _first_given(given_output, conversations.final_plain, conversations.final_with_calls)
        rule = _first_given(
            _said_where(given_output, FIELD),
            _said_where(conversations.final_plain, LAST_ASSISTANT_MESSAGE),
            _said_where(output, LAST_ASSISTANT_TEXT),
        )
        values: dict[str, pa.Array] = {
            "trajectory_uid": trajectory_uids(uri, offsets),
            "trajectory_id": identity,
            "group_id": group,
            "parent_id": parent,
            "source_uri": pa.repeat(uri, count),
            "source_offset": pa.array(offsets),
            "source_format": pa.repeat(self.source_format, count),
            "event_time": event_time,
            "input": _first_given(given_input, conversations.first_user),
            "output": output,
            "output_rule": rule,
            "reference": reference,
            "messages": conversations.messages,
            "tool_calls": conversations.tool_calls,
            "tool_results": conversations.tool_results,
            "events": _empty_lists(TRAJECTORY_BATCH.field("events").type, count),
            "model": model,
            "agent": agent,
            "metadata": self._metadata(columns, facts, count),
            "issues": _issues(output, time_issues),
            "bytes": pa.array(sizes),
        }
        for key, name in _USAGE.items():
            if name is not None:
                values[name] = (
                    columns["usage"].field(key)
                    if columns["usage"].null_count == 0
                    else pc.struct_field(columns["usage"], key)
                )
        arrays = [
            values.get(field.name) if field.name in values else pa.nulls(count, field.type)
            for field in TRAJECTORY_BATCH
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=TRAJECTORY_BATCH)

    def _metadata(self, columns: Mapping[str, pa.Array], facts: _Facts, count: int) -> pa.MapArray:
        texts: dict[str, pa.Array] = {}
        for key in self.scalars:
            left = facts.left_over(key)
            if left is not None:
                texts[key] = left
        for key in self.metadata:
            texts[key] = _as_text(pc.struct_field(columns["metadata"], key))
        return _maps(dict(sorted(texts.items())), count)


class _Facts:
    """The scalar columns of the records, and which entries gave a field already."""

    def __init__(self, columns: Mapping[str, pa.Array], scalars: Sequence[str], count: int) -> None:
        self.columns = {key: columns[key] for key in scalars}
        self.count = count
        self.used: dict[str, npt.NDArray[np.bool_]] = {}

    def first(self, keys: Sequence[str], fits: Any, again: bool = False) -> pa.Array:
        """Row by row the value of the first key whose value fits, as text; notes that it was used."""
        found: pa.Array | None = None
        for key in keys:
            column = self.columns.get(key)
            if column is None:
                continue
            fitting = fits(column)
            if fitting is None:
                continue
            given = fitting.is_valid().to_numpy(zero_copy_only=False)
            if found is not None:
                given = given & found.is_null().to_numpy(zero_copy_only=False)
            self.used[key] = self.used.get(key, np.zeros(self.count, bool)) | given
            found = fitting if found is None else pc.coalesce(found, fitting)
        return pa.nulls(self.count, pa.string()) if found is None else found

    def left_over(self, key: str) -> pa.Array | None:
        """The values of a key that gave no field, as metadata text; None where all did."""
        used = self.used.get(key)
        if used is None:
            return _as_text(self.columns[key])
        left = pc.if_else(pa.array(used), _NO_TEXT, _as_text(self.columns[key]))
        return None if left.null_count == self.count else left


def read_with_arrow(text: bytes, schema: pa.Schema) -> pa.Table | None:
    """JSON lines by Arrow's reader; None where one of them is not what the schema says, to the letter."""
    try:
        return pa_json.read_json(
            pa.BufferReader(text),
            read_options=pa_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            parse_options=pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        )
    except pa.ArrowInvalid:
        return None


def _first_given(*columns: pa.Array) -> pa.Array:
    """Row by row the first text that is not null. Where one column alone has any that count, it is taken as it is, without a copy."""
    given = columns[-1:]
    for column in reversed(columns[:-1]):
        if column.null_count == 0:
            given = (column,)
        elif column.null_count < len(column):
            given = (column, *given)
    return pc.coalesce(*given) if len(given) > 1 else given[0]


def _said_where(column: pa.Array, word: str) -> pa.Array:
    """The word where a column has a value, null elsewhere."""
    if column.null_count in (0, len(column)):
        return pa.repeat(pa.scalar(word if column.null_count == 0 else None, pa.string()), len(column))
    return pc.if_else(column.is_valid(), word, _NO_TEXT)


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _shape(value: Any, depth: int = 0) -> Any:
    """What lines have in common that `read_uniform_lines` reads together."""
    if depth > DEEPEST:
        return None
    if isinstance(value, dict):
        return tuple((key, _shape(item, depth + 1)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(_shape(item, depth + 1) for item in value)
    return value if value is None or isinstance(value, bool) else type(value)


def _learn(value: dict[str, Any], scalars: dict[str, pa.DataType], metadata: dict[str, pa.DataType]) -> bool:
    """Take the keys of one sample record into the schema; False where it is not plain."""
    if not isinstance(value.get("messages"), list):
        return False
    own: dict[str, pa.DataType] = {}
    for key, item in value.items():
        if key == "messages" or (key == "usage" and (item is None or _is_plain_usage(item))):
            continue
        if key == "metadata" and isinstance(item, dict):
            if any(type(inner) not in _SCALARS for inner in item.values()):
                return False
            metadata.update({name: _SCALARS[type(inner)] for name, inner in item.items() if inner is not None})
            continue
        if key in _SLOW_KEYS or type(item) not in _SCALARS:
            return False
        if item is not None or key not in scalars:
            own[key] = _SCALARS[type(item)]
    scalars.update(own)
    return True


def _is_plain_usage(usage: Any) -> bool:
    return isinstance(usage, dict) and bool(usage) and usage.keys() <= _USAGE.keys()


def _usage_is_plain(usage: pa.StructArray) -> bool:
    """Whether no record's usage is an empty object or holds a negative count."""
    present = usage.is_valid()
    anything = pa.array(np.zeros(len(usage), bool))
    for key in _USAGE:
        counts = pc.struct_field(usage, key)
        if pc.any(pc.less(counts, 0)).as_py():
            return False
        anything = pc.or_(anything, counts.is_valid())
    return not pc.any(pc.and_not(present, anything)).as_py()


def _is_id(column: pa.Array) -> pa.Array | None:
    if pa.types.is_boolean(column.type):
        return None
    text = column.cast(pa.string())
    empty = pc.equal(text, "")
    return pc.if_else(empty, _NO_TEXT, text) if empty.true_count else text


def _is_name(column: pa.Array) -> pa.Array | None:
    return _is_id(column) if pa.types.is_string(column.type) else None


def _is_text(column: pa.Array) -> pa.Array | None:
    return column if pa.types.is_string(column.type) else None


def _is_reference(column: pa.Array) -> pa.Array | None:
    return None if pa.types.is_boolean(column.type) else column.cast(pa.string())


def _is_time(column: pa.Array) -> pa.Array | None:
    """Times as text; numbers are marked by a leading NUL, for a number and its text may not be read alike."""
    if pa.types.is_boolean(column.type):
        return None
    if pa.types.is_string(column.type):
        return _is_id(column)
    return pc.binary_join_element_wise("\0", column.cast(pa.string()), "")


def _times(texts: pa.Array) -> tuple[pa.Array, dict[int, str]]:
    """(moments in UTC, issue by row) of times as the log wrote them."""
    if texts.null_count == len(texts):
        return pa.nulls(len(texts), TIMESTAMP), {}
    iso = pc.fill_null(pc.match_substring_regex(texts, _ISO_TIME), False)
    try:
        moments = pc.if_else(iso, texts, _NO_TEXT).cast(TIMESTAMP)
    except pa.ArrowInvalid:  # a day or hour that does not exist
        iso = pa.array(np.zeros(len(texts), bool))
        moments = pa.nulls(len(texts), TIMESTAMP)
    others = np.flatnonzero(pc.and_not(texts.is_valid(), iso).to_numpy(zero_copy_only=False))
    if not len(others):
        return moments, {}
    parsed = []
    issues = {}
    for row in others.tolist():
        text = texts[row].as_py()
        moment, issue = parse_time(int(text[1:]) if text.startswith("\0") else text)
        parsed.append(moment)
        if issue is not None:
            issues[row] = issue
    mask = np.zeros(len(texts), bool)
    mask[others] = True
    return pc.replace_with_mask(moments, pa.array(mask), pa.array(parsed, TIMESTAMP)), issues


def _issues(output: pa.Array, time_issues: Mapping[int, str]) -> pa.ListArray:
    silent = output.is_null().to_numpy(zero_copy_only=False)
    if not silent.any() and not time_issues:
        return _empty_lists(pa.list_(pa.string()), len(output))
    rows = [
        ([NO_FINAL_TEXT] if quiet else []) + ([time_issues[row]] if row in time_issues else [])
        for row, quiet in enumerate(silent.tolist())
    ]
    return pa.array(rows, pa.list_(pa.string()))


def _as_text(column: pa.Array) -> pa.Array:
    return column.cast(pa.string())


def _empty_lists(arrow_type: pa.ListType, count: int) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(np.zeros(count + 1, np.int32)), pa.array([], arrow_type.value_type))


def _maps(texts: Mapping[str, pa.Array], count: int) -> pa.MapArray:
    """A map a row of the texts that are not null there, in the given order of keys."""
    width = len(texts)
    map_type = TRAJECTORY_BATCH.field("metadata").type
    if not width:
        empty = pa.array([], pa.string())
        return pa.MapArray.from_arrays(pa.array(np.zeros(count + 1, np.int32)), empty, empty, map_type)
    by_key = pa.concat_arrays(list(texts.values()))
    order = np.arange(width * count, dtype=np.int64).reshape(width, count).T.ravel()
    values = by_key.take(pa.array(order))
    present = values.is_valid().to_numpy(zero_copy_only=False)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(present.reshape(count, width).sum(axis=1))))
    keys = pa.array(list(texts)).take(pa.array(np.tile(np.arange(width), count)[present]))
    return pa.MapArray.from_arrays(pa.array(offsets.astype(np.int32)), keys, values.drop_null(), map_type)


assert set(dict(USAGE_FIELDS)) >= {name for name in _USAGE.values() if name}
assert set(ROLES.values()) == {"system", "user", "assistant", "tool"}
