"""`gradebeam inspect`: which format a file is taken for and why, and its first trajectories as normalised."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator

from pydantic import TypeAdapter

from graders.errors import ConfigError
from pipelines import storage
from pipelines.cli.exit_codes import DONE
from pipelines.formats.container import Normalised, SourceRecord, in_order, normalised_safely
from pipelines.preflight import format_problems
from pipelines.reading.block import Block
from pipelines.reading.reader import BlockReader
from pipelines.reading.splitting import FileFormat, file_format, split
from pipelines.suite_file import load_suite
from schemas.manifest import InputFile
from schemas.reject import Reject
from schemas.suite import InputConfig
from schemas.trajectory import Message, Trajectory

#: Of a log with one event a line, so many records are read for the first trajectories.
_GROUPED_RECORDS = 20_000
_LONGEST_TEXT = 160


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="files or globs")
    parser.add_argument(
        "-n", "--count", type=int, default=3, metavar="N", help="show this many trajectories a file (default 3)"
    )
    parser.add_argument("--suite", help="read as this suite's `input:` says")
    parser.add_argument("--format", help="read as this format instead of telling it from the content")
    parser.add_argument("--json", action="store_true", help="print the trajectories whole, as JSON lines")


def execute(options: argparse.Namespace) -> int:
    """Show; 2 where there is no such file or format. What a file holds is never an error here."""
    config = load_suite(options.suite).suite.input if options.suite else InputConfig()
    if options.format:
        config = config.model_copy(update={"format": options.format, "fields": None})
    if problems := format_problems(config.format, config.fields):
        raise ConfigError(problems)
    for pattern in options.files:
        found = storage.match(pattern)
        if not found:
            raise ConfigError(f'nothing matches "{pattern}"')
        for file in found:
            _inspect(
                InputFile(uri=file.uri, size=file.size, fingerprint=file.version), config, options.count, options.json
            )
    return DONE


def _inspect(file: InputFile, config: InputConfig, count: int, as_json: bool) -> None:
    told = file_format(file, config)
    shown: list[Trajectory] = []
    rejects: list[Reject] = []
    for item in _first_items(told, file, config):
        if isinstance(item, Reject):
            rejects.append(item)
        elif len(shown) < count:
            shown.append(item)
        if len(shown) >= count:
            break
    if as_json:
        for trajectory in shown:
            print(TypeAdapter(Trajectory).dump_json(trajectory).decode())
        return
    print(f"{file.uri} ({file.size:,} bytes)")
    print(f"  format: {told.name}")
    print(f"  why: {told.why}")
    print(f"  read as: {_how(told.block)}")
    for trajectory in shown:
        print("\n".join(_lines(trajectory)))
    for reject in rejects[: max(count, 1)]:
        print(f"  rejected at {reject.source_offset}: {reject.reason.value}: {reject.detail}")
    if len(rejects) > max(count, 1):
        print(f"  and {len(rejects) - max(count, 1):,} more rejects before the last trajectory shown")
    if not shown and not rejects:
        print("  no records")


def _first_items(told: FileFormat, file: InputFile, config: InputConfig) -> Iterator[Trajectory | Reject]:
    """Trajectories and rejects from the file's beginning, read only as far as they are asked for."""
    reader = BlockReader(config, 0)
    container = told.block.container
    if container is not None and container.grouping == "key":
        yield from _grouped(reader, told.block)
        return
    for block in split(file, config):
        for loaded in reader.load(block):
            items: list[Trajectory | Reject] = [*loaded.batch.rows, *loaded.rejects]
            yield from sorted(items, key=lambda item: item.source_offset)


def _grouped(reader: BlockReader, block: Block) -> Iterator[Trajectory | Reject]:
    """Of a log with one event a line: trajectories as far as the first records tell them."""
    container = block.container
    assert container is not None
    groups: dict[str | None, list[SourceRecord]] = {}
    for record in itertools.islice(reader.records(block), _GROUPED_RECORDS):
        if isinstance(record, Reject):
            yield record
            continue
        for part in container.pieces(record):
            groups.setdefault(container.key(part), []).append(part)
    for key, records in groups.items():
        normalised = Normalised()
        if key is None:
            for record in records:
                normalised.add(normalised_safely(container, [record]))
        else:
            normalised = normalised_safely(container, in_order(records))
        yield from normalised.trajectories
        yield from normalised.rejects


def _how(block: Block) -> str:
    words: list[str] = [block.kind]
    if block.compression != "none":
        words.append(f"compressed with {block.compression}")
    if block.encoding != "utf-8":
        words.append(f"encoded as {block.encoding}")
    if block.container is not None and block.container.grouping == "key":
        words.append(f"one event a record, grouped; shown from the first {_GROUPED_RECORDS:,} records")
    if block.container is not None and block.container.grouping == "file":
        words.append("one session a file")
    return ", ".join(words)


def _lines(trajectory: Trajectory) -> Iterator[str]:
    yield f"\n  {trajectory.trajectory_id}  (offset {trajectory.source_offset:,}, {trajectory.bytes:,} bytes)"
    usage = trajectory.usage
    facts = {
        "group": trajectory.group_id,
        "time": trajectory.event_time,
        "model": trajectory.model,
        "agent": trajectory.agent,
        "outcome": trajectory.outcome,
        "tokens": None if usage.input_tokens is None else f"{usage.input_tokens} in, {usage.output_tokens} out",
        "cost": usage.cost_usd,
        "metadata": dict(trajectory.metadata) or None,
        "issues": ", ".join(trajectory.issues) or None,
    }
    for name, value in facts.items():
        if value is not None:
            yield f"    {name}: {_cut(str(value))}"
    calls: dict[int | None, list[str]] = {}
    for call in trajectory.tool_calls:
        calls.setdefault(call.message_index, []).append(f"→ {call.name}({_cut(call.arguments_raw)})")
    for number, message in enumerate(trajectory.messages):
        yield f"    [{number}] {_headed(message)}"
        yield from (f"        {call}" for call in calls.pop(number, []))
    yield from (f"    {call}" for left in calls.values() for call in left)
    if trajectory.reference is not None:
        yield f"    reference: {_cut(trajectory.reference)}"
    yield f"    output ({trajectory.output_rule or 'none'}): {_cut(trajectory.output or '–')}"


def _headed(message: Message) -> str:
    marks = [*message.flags, *(["error"] if message.is_error else [])]
    head = message.role + (f" ({', '.join(marks)})" if marks else "")
    return f"{head}: {_cut(message.text) if message.text is not None else '–'}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_TEXT else line[: _LONGEST_TEXT - 1] + "…"
