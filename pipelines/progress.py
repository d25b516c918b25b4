"""How far a local run is, told from the markers of staged blocks (the local runner gives no live metrics)."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from pipelines import storage
from pipelines.forked_calls import copying
from pipelines.plan import RunPlan
from pipelines.writing.parts import MARKER_SUFFIX, read_marker

_PLAIN_SECONDS = 5.0
_POLL_SECONDS = 0.5


@dataclass
class Progress:
    """Watches a run's staging folder from a thread of its own; a context manager."""

    plan: RunPlan
    quiet: bool = False

    def __post_init__(self) -> None:
        self.total = sum(file.size for file in self.plan.inputs)
        self.bytes = self.records = self.rejects = 0
        self._seen: set[str] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="gradebeam-progress", daemon=True)
        self._started = time.monotonic()

    def __enter__(self) -> Progress:
        if not self.quiet and not storage.is_remote(self.plan.output):
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        if sys.stderr.isatty():
            self._bar()
        else:
            self._lines()

    def _bar(self) -> None:
        with copying:
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (
                TextColumn("grading"),
                BarColumn(),
                DownloadColumn(),
                TextColumn("{task.fields[rate]} records/s, {task.fields[rejects]} rejects"),
                TimeRemainingColumn(),
            )
            bar = Bar(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
            bar.start()
            task: Any = bar.add_task("grading", total=max(self.total, 1), rate="0", rejects="0")
        try:
            while not self._stop.wait(_POLL_SECONDS):
                with copying:
                    self.poll()
                    done, rate, rejects = min(self.bytes, self.total), f"{self.rate:,.0f}", f"{self.rejects:,}"
                    bar.update(task, completed=done, rate=rate, rejects=rejects, refresh=True)
        finally:
            with copying:
                bar.stop()

    def _lines(self) -> None:
        while not self._stop.wait(_PLAIN_SECONDS):
            with copying:
                self.poll()
                done = f"{self.bytes / 1e6:,.0f} of {self.total / 1e6:,.0f} MB"
                print(
                    f"{done}, {self.records:,} records, {self.rate:,.0f} records/s, {self.rejects:,} rejects",
                    file=sys.stderr,
                )

    @property
    def rate(self) -> float:
        """Records a second since the start."""
        return self.records / max(time.monotonic() - self._started, 1e-9)

    def poll(self) -> None:
        """Take in blocks that were staged since the last look."""
        for file in storage.list_folder(self.plan.staging):
            if file.uri.endswith(MARKER_SUFFIX) and file.uri not in self._seen:
                self._seen.add(file.uri)
                try:
                    marker = read_marker(file.uri)
                except (OSError, ValueError):
                    continue
                self.bytes += marker.bytes
                self.records += marker.records
                self.rejects += sum(marker.rejects.values())
