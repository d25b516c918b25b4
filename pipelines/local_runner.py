"""Beam's local runner with threads or forked copies of this process for workers, which are set up only where they have something to do."""

from __future__ import annotations

import copy
import queue
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from apache_beam.metrics import monitoring_infos
from apache_beam.portability.api import beam_fn_api_pb2
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.portability.fn_api_runner.fn_runner import BundleManager, ParallelBundleManager

from pipelines.forked_calls import forked_map

#: A stage's input is cut into so many bundles for each worker, so that none waits long for one that has the slow blocks.
_BUNDLES = 16

Bundle = dict[str, list[bytes]]


class LocalRunner(FnApiRunner):
    """Runs a pipeline in this process, or in forks of it: those share no interpreter, and compute twice as much on two cores."""

    def __init__(self, forks: bool, busy_steps: Iterable[str]) -> None:
        """Workers share the input of stages with one of some named steps; others are done before a second worker were set up."""
        super().__init__()
        self._forks = forks
        self._busy_steps = frozenset(busy_steps)

    def _get_bundle_manager(self, bundle_context_manager: Any) -> Any:
        manager = super()._get_bundle_manager(bundle_context_manager)
        if not isinstance(manager, ParallelBundleManager):
            return manager
        steps = bundle_context_manager.process_bundle_descriptor.transforms.values()
        busy = any(self._busy_steps.intersection(step.unique_name.split("/")) for step in steps)
        return _SpreadBundles(manager, self._forks, busy)


@dataclass
class _Collected:
    """A buffer that only takes what a bundle puts out."""

    data: list[bytes] = field(default_factory=list)
    cleared: bool = False

    def append(self, data: bytes) -> None:
        self.data.append(data)


class _SpreadBundles(ParallelBundleManager):
    """Cuts the input of a busy stage into bundles that workers take as they are free.

    A stage without input is not run at all, which is any runner's right, and a single bundle runs here: to set a worker up for a stage
    takes some ten milliseconds, and most stages of a run hold a handful of descriptors.
    """

    def __init__(self, manager: ParallelBundleManager, forks: bool, busy: bool) -> None:
        super().__init__(manager.bundle_context_manager, manager._progress_frequency, manager._cache_token_generator)
        self._forks = forks
        self._busy = busy

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
        number = self._num_workers * _BUNDLES
        bundles: list[Bundle] = [{} for _ in range(number)]
        for name, buffer in inputs.items():
            for bundle, elements in zip(bundles, buffer.partition(number), strict=True):
                bundle[name] = elements
        if not self._busy:
            bundles = [{name: list(chain.from_iterable(bundle[name] for bundle in bundles)) for name in inputs}]
        filled = [bundle for bundle in bundles if any(any(elements) for elements in bundle.values())]
        carried_out = self._in_forks if self._forks and len(filled) > 1 else self._in_threads
        responses = carried_out(filled, expected_outputs, dry_run)
        infos = chain.from_iterable(response.monitoring_infos for response in responses)
        done = beam_fn_api_pb2.ProcessBundleResponse(monitoring_infos=monitoring_infos.consolidate(infos))
        return beam_fn_api_pb2.InstructionResponse(process_bundle=done), []

    def _in_threads(self, bundles: Sequence[Bundle], expected_outputs: Any, dry_run: bool) -> list[Any]:
        """Responses. A worker's channel in memory takes one bundle at a time."""
        free: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for worker in self.bundle_context_manager.worker_handlers:
            free.put(worker)

        def respond(bundle: Bundle) -> Any:
            worker = free.get()
            try:
                return self._manager(worker).process_bundle(bundle, expected_outputs, {}, {}, dry_run)[0].process_bundle
            finally:
                free.put(worker)

        if len(bundles) < 2:
            return [respond(bundle) for bundle in bundles]
        with ThreadPoolExecutor(self._num_workers) as threads:
            return list(threads.map(respond, bundles))

    def _in_forks(self, bundles: Sequence[Bundle], expected_outputs: Any, dry_run: bool) -> list[Any]:
        """Responses; what the bundles put out is copied into this process's buffers."""
        worker = self.bundle_context_manager.worker_handlers[0]

        def respond(bundle: Bundle) -> tuple[bytes, dict[str, list[bytes]]]:
            manager = self._manager(worker)
            collected: dict[str, _Collected] = {}
            manager.bundle_context_manager.get_buffer = lambda buffer, transform: collected.setdefault(
                transform, _Collected()
            )
            response = manager.process_bundle(bundle, expected_outputs, {}, {}, dry_run)[0].process_bundle
            return response.SerializeToString(), {transform: buffer.data for transform, buffer in collected.items()}

        responses = []
        for response, outputs in forked_map(respond, bundles, self._num_workers):
            responses.append(beam_fn_api_pb2.ProcessBundleResponse.FromString(response))
            for transform, data in outputs.items():
                buffer = self.bundle_context_manager.get_buffer(expected_outputs[transform], transform)
                for elements in data:
                    buffer.append(elements)
        return responses

    def _manager(self, worker: Any) -> BundleManager:
        """For one bundle on a certain worker, where Beam would pick it by a count of all bundles of the process."""
        own_context = copy.copy(self.bundle_context_manager)
        own_context._worker_handlers = [worker]
        return BundleManager(own_context, self._progress_frequency, self._cache_token_generator)
