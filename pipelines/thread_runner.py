"""Beam's local runner with threads of this process for workers, which are set up only for stages that they have something to do in."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from itertools import chain
from typing import Any

from apache_beam.metrics import monitoring_infos
from apache_beam.portability.api import beam_fn_api_pb2
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.portability.fn_api_runner.fn_runner import BundleManager, ParallelBundleManager
from apache_beam.utils import thread_pool_executor


class ThreadRunner(FnApiRunner):
    """Runs a pipeline in this process."""

    def _get_bundle_manager(self, bundle_context_manager: Any) -> Any:
        manager = super()._get_bundle_manager(bundle_context_manager)
        if isinstance(manager, ParallelBundleManager):
            return _BusyWorkers(bundle_context_manager, manager._progress_frequency, manager._cache_token_generator)
        return manager


class _BusyWorkers(ParallelBundleManager):
    """Hands a stage's input to as many workers as there is input for; a stage without any is not run at all, which is any runner's right.

    To set a worker up for a stage takes some ten milliseconds, and most stages of a run hold a handful of descriptors.
    """

    def process_bundle(
        self,
        inputs: Mapping[str, Any],
        expected_outputs: Any,
        fired_timers: Mapping[Any, Any],
        expected_output_timers: Any,
        dry_run: bool = False,
    ) -> Any:
        """The stage's merged response, and no splits."""
        if expected_output_timers:
            return super().process_bundle(inputs, expected_outputs, fired_timers, expected_output_timers, dry_run)
        parts: list[dict[str, list[bytes]]] = [{} for _ in range(self._num_workers)]
        for name, buffer in inputs.items():
            for part, elements in zip(parts, buffer.partition(self._num_workers), strict=True):
                part[name] = elements
        busy = [part for part in parts if any(any(elements) for elements in part.values())]

        def respond(worker: Any, part: dict[str, list[bytes]]) -> Any:
            # Beam picks workers by a count of all bundles of the process, and a worker's channel in memory takes one bundle at a time.
            own_context = copy.copy(self.bundle_context_manager)
            own_context._worker_handlers = [worker]
            manager = BundleManager(own_context, self._progress_frequency, self._cache_token_generator)
            return manager.process_bundle(part, expected_outputs, {}, {}, dry_run)[0].process_bundle

        workers = self.bundle_context_manager.worker_handlers
        with thread_pool_executor.shared_unbounded_instance() as executor:
            responses = executor.map(respond, workers, busy)
            infos = chain.from_iterable(response.monitoring_infos for response in responses)
            done = beam_fn_api_pb2.ProcessBundleResponse(monitoring_infos=monitoring_infos.consolidate(infos))
        return beam_fn_api_pb2.InstructionResponse(process_bundle=done), []
