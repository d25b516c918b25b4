"""The exit codes of every verb."""

from __future__ import annotations

DONE = 0
INTERNAL_FAILURE = 1
BAD_USAGE = 2
GATE_FAILED = 10
GATE_INCONCLUSIVE = 11
OVER_ALLOWANCE = 12
WAITING_FOR_BATCH = 13
INTERRUPTED = 130
