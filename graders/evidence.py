"""Evidence: the sentence that says what was found, and the places it was found in, with bounded quotes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graders.text_positions import Positions, code_points_to_bytes, substrings, to_mask
from graders.text_search import Spans
from graders.trajectory_batch import MessageTexts, TrajectoryBatch
from schemas.score import MAX_EVIDENCE, MAX_QUOTE
from schemas.tables import EVIDENCE
from schemas.text import bounded

#: Longest pattern or text that a sentence shows, in code points.
MAX_SHOWN = 300
PASS_MARK, FAIL_MARK = "✔", "✘"
_ITEM = EVIDENCE.value_type


def marked(passed: bool, sentence: str) -> str:
    """The sentence behind a check mark or a cross."""
    return f"{PASS_MARK if passed else FAIL_MARK} {sentence}"


def shown_pattern(pattern: str, flags: str = "") -> str:
    """A pattern as written, between slashes, with the flags that were given beside it."""
    return f"/{bounded(pattern, MAX_SHOWN)}/{flags}"


def shown_text(text: str) -> str:
    """A literal between quotes."""
    return f"'{bounded(text, MAX_SHOWN)}'"


def evidence_column(batch: TrajectoryBatch, texts: MessageTexts, found: Sequence[Spans]) -> pa.ListArray | None:
    """The `evidence` of every row: the places found in its texts, in the order of `found`; None where there is none."""
    spans = [one for one in found if len(one.indices)]
    if not spans:
        return None
    indices = np.concatenate([one.indices for one in spans])
    rows = texts.rows[indices]
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    order, rows = order[rank < MAX_EVIDENCE], rows[rank < MAX_EVIDENCE]
    indices = indices[order]
    starts, ends, byte_starts, byte_ends = (
        np.concatenate([getattr(one, name) for one in spans])[order]
        for name in ("starts", "ends", "byte_starts", "byte_ends")
    )
    quoted_texts = texts.texts.take(pa.array(indices))
    messages = texts.message_indices[indices]
    if len(messages) and messages[0] < 0:
        messages = _messages_of_outputs(batch, rows, quoted_texts)
    items = pa.StructArray.from_arrays(
        [
            pa.array(messages, pa.int32(), mask=messages < 0),
            pa.array(starts, pa.int64()),
            pa.array(ends, pa.int64()),
            _quotes(quoted_texts, starts, ends, byte_starts, byte_ends),
        ],
        fields=list(_ITEM),
    )
    counts = np.bincount(rows, minlength=len(batch))
    offsets = np.zeros(len(batch) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets, mask=np.append(counts == 0, False)), items, type=EVIDENCE)


def _quotes(
    texts: pa.StringArray, starts: Positions, ends: Positions, byte_starts: Positions, byte_ends: Positions
) -> pa.StringArray:
    long = ends - starts > MAX_QUOTE
    if not long.any():
        return substrings(texts, byte_starts, byte_ends)
    (cut_ends,) = code_points_to_bytes(texts, np.where(long, starts + MAX_QUOTE - 1, ends))
    tails = pc.if_else(pa.array(long), "…", "")
    return pc.binary_join_element_wise(substrings(texts, byte_starts, cut_ends), tails, "")


def _messages_of_outputs(batch: TrajectoryBatch, rows: Positions, outputs: pa.StringArray) -> Positions:
    """For each output the message that holds it word by word: the row's last assistant message, or -1."""
    assistant = batch.assistant_texts
    last = np.searchsorted(assistant.rows, rows, side="right") - 1
    found = np.full(len(rows), -1, np.int64)
    if not len(assistant.rows):
        return found
    candidates = np.maximum(last, 0)
    same_row = (last >= 0) & (assistant.rows[candidates] == rows)
    same_text = to_mask(pc.equal(assistant.texts.take(pa.array(candidates)), outputs))
    holds = same_row & same_text
    found[holds] = assistant.message_indices[candidates[holds]]
    return found
