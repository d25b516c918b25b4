"""The backtracking tier: texts judged by `regex` in a worker process, one budget a text."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graders.matching import worker as protocol
from graders.matching.errors import InvalidPattern
from graders.matching.limits import GRADER_BUDGET, MEMORY, TIMEOUT, MatchLimits
from graders.matching.worker_pool import Lease, leased
from graders.matching.worker_process import Ending, Reply

NO_LIMIT = 0
LIMIT_CODES = {TIMEOUT: 1, MEMORY: 2, GRADER_BUDGET: 3}
_LIMIT_NAMES = {code: name for name, code in LIMIT_CODES.items()}
_BATCH_BYTES = 8 * 1024 * 1024
_BATCH_TEXTS = 32_768
_TEXTS_A_TIMER = 32
_MOST_REMEMBERED = 1024
_COMPILE_ATTEMPTS = 3
"""A worker may be killed from outside while it compiles; a pattern that eats memory ends every attempt."""


@dataclass(frozen=True, slots=True)
class BacktrackingPattern:
    """A pattern for `regex` with its flags, and the limits under which it runs."""

    text: str
    flags: int
    limits: MatchLimits


@dataclass(slots=True)
class Texts:
    """UTF-8 texts back to back: text n is `data[offsets[n]:offsets[n + 1]]`."""

    data: memoryview
    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(slots=True)
class Judged:
    """One entry a text: whether it matched (void beside a limit), the limit's code, the span in code points."""

    matched: npt.NDArray[np.bool_]
    limit: npt.NDArray[np.uint8]
    spans: npt.NDArray[np.int64] | None


_uncompilable: dict[BacktrackingPattern, str] = {}
_uncompilable_lock = threading.Lock()


def check_compiles(pattern: BacktrackingPattern) -> str | None:
    """Compile in a worker, under the budget of one evaluation; the name of the limit it hit, or None.

    Raises:
        InvalidPattern: if `regex` refuses the pattern.
    """
    with leased(pattern.limits.memory_bytes) as lease:
        return _compile(lease, pattern)


def judge(pattern: BacktrackingPattern, texts: Texts, *, spans: bool) -> Judged:
    """A verdict or a limit for every text; a text that stops its worker costs no other text its verdict."""
    count = len(texts)
    judged = Judged(
        matched=np.zeros(count, np.bool_),
        limit=np.zeros(count, np.uint8),
        spans=np.zeros((count, 2), np.int64) if spans else None,
    )
    stopped = 0
    with leased(pattern.limits.memory_bytes) as lease:
        first = 0
        while first < count:
            uncompilable = _compile(lease, pattern)
            if uncompilable is not None:
                judged.limit[first:] = LIMIT_CODES[uncompilable]
                break
            if stopped >= pattern.limits.timeouts_per_batch:
                judged.limit[first:] = LIMIT_CODES[GRADER_BUDGET]
                break
            end = _batch_end(texts.offsets, first)
            batch = _Batch(lease, pattern, texts, judged, first, end)
            stopped += batch.run(pattern.limits.timeouts_per_batch - stopped)
            first = end
    return judged


def _batch_end(offsets: npt.NDArray[np.int64], first: int) -> int:
    last = int(np.searchsorted(offsets, offsets[first] + _BATCH_BYTES, side="right")) - 1
    return max(first + 1, min(last, first + _BATCH_TEXTS, len(offsets) - 1))


def _compile(lease: Lease, pattern: BacktrackingPattern) -> str | None:
    known = _uncompilable.get(pattern)
    if known is not None:
        return known
    ending = Ending.UNKNOWN
    for _ in range(_COMPILE_ATTEMPTS):
        worker = lease.worker
        if pattern in worker.compiled:
            return None
        key = str(len(worker.compiled))
        encoded = pattern.text.encode("utf-8", "surrogatepass").hex()
        reply = worker.ask(f"compile {key} {pattern.flags} {pattern.limits.cpu_ms} {encoded}")
        if isinstance(reply, Reply):
            if reply.words[0] == "invalid":
                raise InvalidPattern(bytes.fromhex(reply.words[2]).decode(), int(reply.words[1]))
            worker.compiled[pattern] = key
            return None
        lease.replace()
        ending = reply
        if ending is Ending.CPU_TIME:
            break
    if ending is Ending.UNKNOWN:
        raise RuntimeError("a matching worker ended without a reason while it compiled a pattern")
    return _remember(pattern, MEMORY if ending is Ending.MEMORY else TIMEOUT)


def _remember(pattern: BacktrackingPattern, limit: str) -> str:
    with _uncompilable_lock:
        if len(_uncompilable) >= _MOST_REMEMBERED:
            _uncompilable.clear()
        _uncompilable[pattern] = limit
    return limit


class _Batch:
    """The texts from `first` to `end`, laid out in the memory of whichever worker judges them."""

    def __init__(
        self, lease: Lease, pattern: BacktrackingPattern, texts: Texts, judged: Judged, first: int, end: int
    ) -> None:
        self.lease = lease
        self.pattern = pattern
        self.judged = judged
        self.first = first
        self.count = end - first
        offsets = texts.offsets[first : end + 1]
        self.offsets = (offsets - offsets[0]).astype(np.int64)
        self.data = texts.data[int(offsets[0]) : int(offsets[-1])]
        self.offsets_at = -(-self.count // 8) * 8
        self.spans_at = self.offsets_at + 8 * (self.count + 1)
        self.data_at = self.spans_at + (16 * self.count if judged.spans is not None else 0)
        self.laid_out_in: object = None
        self.group = _TEXTS_A_TIMER

    def run(self, most_stopped: int) -> int:
        """Judge the batch and return how many texts were stopped; beyond `most_stopped` the rest is `grader_budget`."""
        next_text, stopped = 0, 0
        tried_again = -1
        while next_text < self.count:
            limit = GRADER_BUDGET if stopped >= most_stopped else _compile(self.lease, self.pattern)
            if limit is not None:
                self.judged.limit[self.first + next_text : self.first + self.count] = LIMIT_CODES[limit]
                break
            alone = tried_again == next_text
            end = next_text + 1 if alone else self.count
            fresh = self.lease.worker.judged_nothing
            ending = self._ask(next_text, end)
            reached, in_evaluation = self._collect(next_text, end)
            if ending is None:
                next_text = end
                continue
            self.lease.replace()
            conclusive = tried_again == reached and fresh
            if ending is Ending.CPU_TIME:
                conclusive = (reached - next_text) % self.group == 0
                self.group = 1
            next_text = reached
            if in_evaluation and conclusive:
                limit = TIMEOUT if ending in (Ending.CPU_TIME, Ending.WALL_TIME) else MEMORY
                self.judged.limit[self.first + reached] = LIMIT_CODES[limit]
                next_text += 1
                stopped += 1
            elif tried_again == reached and not in_evaluation:
                raise RuntimeError("a matching worker ended twice between two texts")
            else:
                tried_again = reached
        return stopped

    def _ask(self, first: int, end: int) -> Ending | None:
        worker = self.lease.worker
        if self.laid_out_in is not worker:
            worker.resize(self.data_at + len(self.data) + 1)
            worker.write(self.offsets.tobytes(), self.offsets_at)
            worker.write(self.data, self.data_at)
            self.laid_out_in = worker
        limits = self.pattern.limits
        spans_at = self.spans_at if self.judged.spans is not None else 0
        worker.judged_nothing = False
        reply = worker.ask(
            f"match {worker.compiled[self.pattern]} {first} {end} {self.offsets_at} {self.data_at} {spans_at} "
            f"{limits.cpu_ms} {limits.wall_ms or 0} {self.group}",
            verdicts=self.count,
        )
        return reply if isinstance(reply, Ending) else None

    def _collect(self, first: int, end: int) -> tuple[int, bool]:
        """Take over the verdicts that have fallen; the first text without one, and whether it was being judged."""
        worker = self.lease.worker
        verdicts = np.frombuffer(worker.read(end, 0), np.uint8)[first:]
        unfinished = np.flatnonzero(verdicts < protocol.NO_MATCH)
        fallen = int(unfinished[0]) if len(unfinished) else end - first
        done = slice(self.first + first, self.first + first + fallen)
        self.judged.matched[done] = verdicts[:fallen] == protocol.MATCH
        if self.judged.spans is not None and fallen:
            raw = worker.read(16 * fallen, self.spans_at + 16 * first)
            self.judged.spans[done] = np.frombuffer(raw, np.int64).reshape(fallen, 2)
        in_evaluation = fallen < end - first and int(verdicts[fallen]) == protocol.STARTED
        return first + fallen, in_evaluation
