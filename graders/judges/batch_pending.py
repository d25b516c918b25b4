"""What says that a block waits for a provider's batch."""

from __future__ import annotations


class BatchPending(Exception):
    """The provider has not finished these batches. Not a fault: run the same command again later.

    `args` are the batches' ids.
    """
