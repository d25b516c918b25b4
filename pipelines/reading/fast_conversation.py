"""The conversations of plain `messages` records as Arrow columns, by the rules of the OpenAI chat dialect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.formats.dialects.conversation import ROLES
from schemas.trajectory_batch import MESSAGE, TOOL_CALL, TOOL_RESULT

_LOG_CALL = pa.struct(
    [
        ("id", pa.string()),
        ("type", pa.string()),
        ("function", pa.struct([("name", pa.string()), ("arguments", pa.string())])),
    ]
)
#: Messages as plain records write them.
LOG_MESSAGES = pa.list_(
    pa.struct(
        [
            ("role", pa.string()),
            ("content", pa.string()),
            ("name", pa.string()),
            ("tool_call_id", pa.string()),
            ("tool_calls", pa.list_(_LOG_CALL)),
        ]
    )
)
_ROLE_NAMES = pa.array(list(ROLES))
_OUR_ROLES = pa.array(list(ROLES.values()))
_KINDS = tuple(dict.fromkeys(ROLES.values()))
_KIND_OF_ROLE = np.array([_KINDS.index(ours) for ours in ROLES.values()], np.int8)
_KEEPS_NAME = np.array([theirs == ours for theirs, ours in ROLES.items()])
#: A text whose first byte lies between these is not blank.
_SPACE, _BEYOND_ASCII = 0x20, 0x80
#: Text that may be all white space; Python's own test decides.
_MAYBE_BLANK = r"^[\s\x0b\x1c-\x1f\x{85}\p{Z}]+"

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class FastConversations:
    """Messages, tool calls and tool results of some records, and the texts that input and output are chosen from."""

    messages: pa.ListArray
    tool_calls: pa.ListArray
    tool_results: pa.ListArray
    first_user: pa.StringArray
    final_plain: pa.StringArray
    """The last assistant text that calls no tool."""
    final_with_calls: pa.StringArray
    """The last assistant text of all."""

    @classmethod
    def of(cls, log_messages: pa.ListArray) -> FastConversations | None:
        """Conversations of a column of `LOG_MESSAGES`; None where a message needs more than the plain rules."""
        lengths = pc.fill_null(pc.list_value_length(log_messages), 0).to_numpy(zero_copy_only=False)
        flat = log_messages.flatten()
        if not lengths.all() or flat.null_count:
            return None
        role_codes = pc.index_in(flat.field("role"), _ROLE_NAMES)
        if role_codes.null_count:
            return None
        codes = role_codes.to_numpy()
        roles = flat.field("role") if _KEEPS_NAME[codes].all() else _OUR_ROLES.take(role_codes)
        kinds = _KIND_OF_ROLE[codes]
        calls = flat.field("tool_calls")
        calling = pc.fill_null(pc.greater(pc.list_value_length(calls), 0), False)
        is_tool = pa.array(kinds == _KINDS.index("tool"))
        if not _tools_are_plain(flat, is_tool) or not _calls_are_plain(calls, calling, kinds):
            return None
        content = flat.field("content")
        texts = _nulled(content, pc.and_(calling, pc.fill_null(pc.equal(content, ""), False)))
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
        rows = np.repeat(np.arange(len(log_messages)), lengths)
        call_ids = flat.field("tool_call_id")
        call_ids = _nulled(call_ids, pc.and_not(call_ids.is_valid(), is_tool))
        count = len(flat)
        message_columns = [
            roles,
            texts,
            flat.field("name"),
            call_ids,
            pa.nulls(count, pa.bool_()),
            pa.ListArray.from_arrays(pa.array(np.zeros(count + 1, np.int32)), pa.array([], pa.string())),
        ]
        spoken = _not_blank(texts)
        assistant = (kinds == _KINDS.index("assistant")) & spoken
        user = (kinds == _KINDS.index("user")) & spoken
        message_indices = np.arange(count) - np.repeat(offsets[:-1], lengths)
        last = _places(rows, assistant, len(log_messages))
        last_plain = _places(rows, assistant & ~_numpy(calling), len(log_messages))
        final_with_calls = _picked(texts, last)
        return cls(
            messages=_lists(offsets, message_columns, MESSAGE),
            tool_calls=_tool_calls(calls, offsets, message_indices),
            tool_results=_tool_results(message_columns, _numpy(is_tool), rows, message_indices, len(log_messages)),
            first_user=_picked(texts, _places(rows, user, len(log_messages), first=True)),
            final_plain=final_with_calls if np.array_equal(last, last_plain) else _picked(texts, last_plain),
            final_with_calls=final_with_calls,
        )


_NO_TEXT = pa.scalar(None, pa.string())


def _nulled(texts: pa.StringArray, where: pa.BooleanArray) -> pa.StringArray:
    """Texts with null in some places; where there are none, the same array: texts are most of a log, and a copy of them takes its time."""
    return pc.if_else(where, _NO_TEXT, texts) if where.true_count else texts


def _tools_are_plain(flat: pa.StructArray, is_tool: pa.BooleanArray) -> bool:
    tools = flat.filter(is_tool)
    call_ids = tools.field("tool_call_id")
    return not (tools.field("content").null_count or call_ids.null_count or pc.any(pc.equal(call_ids, "")).as_py())


def _calls_are_plain(calls: pa.ListArray, calling: pa.BooleanArray, kinds: npt.NDArray[np.int8]) -> bool:
    if (_numpy(calling) & (kinds != _KINDS.index("assistant"))).any():
        return False
    flat = calls.flatten()
    if not len(flat):
        return True
    if flat.null_count or flat.field("function").null_count:
        return False
    return all(
        not (texts.null_count or pc.any(pc.equal(texts, "")).as_py())
        for texts in (flat.field("id"), flat.field("function").field("name"))
    )


def _tool_calls(
    calls: pa.ListArray, offsets: npt.NDArray[np.int64], message_indices: npt.NDArray[np.int64]
) -> pa.ListArray:
    flat = calls.flatten()
    per_message = pc.fill_null(pc.list_value_length(calls), 0).to_numpy(zero_copy_only=False)
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(per_message)))
    function = flat.field("function")
    columns = [
        function.field("name"),
        pc.fill_null(function.field("arguments"), ""),
        flat.field("id"),
        pa.array(np.repeat(message_indices, per_message), pa.int32()),
    ]
    return _lists(ends[offsets], columns, TOOL_CALL)


def _tool_results(
    message_columns: list[pa.Array],
    is_tool: Mask,
    rows: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int64],
    count: int,
) -> pa.ListArray:
    mask = pa.array(is_tool)
    _, texts, names, call_ids, is_error, _ = message_columns
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(rows[is_tool], minlength=count))))
    columns = [
        texts.filter(mask),
        call_ids.filter(mask),
        names.filter(mask),
        is_error.filter(mask),
        pa.array(indices[is_tool], pa.int32()),
    ]
    return _lists(offsets, columns, TOOL_RESULT)


def _places(rows: npt.NDArray[np.int64], wanted: Mask, count: int, first: bool = False) -> npt.NDArray[np.int64]:
    """The last (or first) wanted place of each row; -1 where there is none."""
    places = np.flatnonzero(wanted)
    if first:
        places = places[::-1]
    chosen = np.full(count, -1, dtype=np.int64)
    chosen[rows[places]] = places
    return chosen


def _picked(texts: pa.StringArray, places: npt.NDArray[np.int64]) -> pa.StringArray:
    """The texts at some places; null for -1."""
    missing = places < 0
    return texts.take(pa.array(places, mask=missing if missing.any() else None))


def _not_blank(texts: pa.StringArray) -> Mask:
    filled = _numpy(pc.fill_null(pc.greater(pc.binary_length(texts), 0), False))
    data = texts.buffers()[2]
    if data is None or not filled.any():
        return filled
    starts = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts)]
    first_bytes = np.frombuffer(data, np.uint8)[starts[filled]]
    suspects = np.flatnonzero(filled)[(first_bytes <= _SPACE) | (first_bytes >= _BEYOND_ASCII)]
    begin_blank = pc.match_substring_regex(texts.take(pa.array(suspects)), _MAYBE_BLANK)
    for place in suspects[_numpy(begin_blank)].tolist():
        filled[place] = not texts[place].as_py().isspace()
    return filled


def _lists(offsets: npt.NDArray[np.int64], columns: list[pa.Array], struct: pa.StructType) -> pa.ListArray:
    return pa.ListArray.from_arrays(
        pa.array(offsets.astype(np.int32)), pa.StructArray.from_arrays(columns, fields=list(struct))
    )


def _numpy(mask: pa.BooleanArray) -> Mask:
    return np.array(mask.to_numpy(zero_copy_only=False))
