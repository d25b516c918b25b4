"""Trajectories of one trace's spans, in whatever order they came.

A span whose parent is missing stands as a root, so a late root loses nothing. Model calls and tool calls belong to the nearest agent span
above them. An agent under another agent is a sub-agent, a trajectory of its own with `parent_id`, where the outer agent makes model calls
of its own or started it through a tool; otherwise the two are one run. Usage is summed over the innermost model calls only: wrappers
repeat it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone

from pipelines.formats.build import Facts, Ordinals, trajectory
from pipelines.formats.container import Normalised, reject
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.spans.model import AGENT, LLM, TOOL, Span
from pipelines.formats.spans.talk import conversation_of
from pipelines.formats.usage import total_usage
from pipelines.formats.values import integer
from schemas.reject import RejectReason
from schemas.trajectory import Event, Trajectory, Usage

DUPLICATE_SPAN = "duplicate_span"
NOT_AN_AGENT_TRACE = "trace_without_model_tool_or_agent_spans"
_TELLING_KINDS = frozenset({LLM, TOOL, AGENT})
MISSING_ROOT = "missing_root_span"
ROOT_OUTPUT = "root_output"
CONTENT_NOT_CAPTURED = "content_not_captured"

_NO_USAGE = Usage()
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def assemble(spans: Sequence[Span], source_format: str) -> Normalised:
    """The trajectories of one trace: the root's first, then its sub-agents'. Every span counts as one record."""
    result = Normalised()
    by_id: dict[str, Span] = {}
    for span in spans:
        known = by_id.get(span.span_id) if span.span_id else None
        if known is not None and known.record.value == span.record.value:
            result.skip(DUPLICATE_SPAN)
        elif known is not None:
            detail = f"another span of the trace {span.trace_id} has its id and other content"
            result.rejects.append(reject(span.record, RejectReason.DUPLICATE_ID, detail, source_format))
        else:
            by_id[span.span_id or f"#{len(by_id)}"] = span
    own = sorted(by_id.values(), key=_place)
    kinds = {span.kind for span in own}
    if kinds.isdisjoint(_TELLING_KINDS) and not any(_holds_io(span) for span in own):
        result.skip(NOT_AN_AGENT_TRACE, len(own))
        return result
    parents = _parents(own, by_id)
    owners = _owners(own, parents)
    callers = _nearest_above(own, parents, lambda span: span.kind == LLM)
    roots = [span for span in own if id(span) not in parents]
    members: dict[int, list[Span]] = {}
    heads: dict[int, Span | None] = {}
    for span in own:
        owner = owners[id(span)]
        key = id(owner) if owner is not None else 0
        members.setdefault(key, []).append(span)
        heads[key] = owner
    ordinals = Ordinals()
    for key, group in members.items():
        head = heads[key]
        made = _one(group, head, roots, parents, owners, callers, source_format, ordinals)
        result.trajectories.append(made)
    result.records_used += len(own)
    result.trajectories.sort(key=lambda item: item.parent_id is not None)
    return result


def _place(span: Span) -> tuple[int, str, int, str]:
    start = span.start if span.start is not None else 0
    length = (span.end or start) - start
    return start, span.order, -length, span.span_id


def _holds_io(span: Span) -> bool:
    return span.add_input is not None and span.add_input(Conversation())


def _parents(own: list[Span], by_id: dict[str, Span]) -> dict[int, Span]:
    """Each span's parent where it is there; of spans that are each other's descendants, the last has none."""
    parents: dict[int, Span] = {}
    for span in own:
        parent = by_id.get(span.parent_id) if span.parent_id else None
        if parent is not None:
            parents[id(span)] = parent
    places = {id(span): place for place, span in enumerate(own)}
    walk_of: dict[int, int] = {}
    for span in own:
        step: Span | None = span
        while step is not None and id(step) not in walk_of:
            walk_of[id(step)] = id(span)
            step = parents.get(id(step))
        if step is not None and walk_of[id(step)] == id(span):
            last = first = step
            while (step := parents[id(step)]) is not first:
                last = max(last, step, key=lambda each: places[id(each)])
            del parents[id(last)]
    return parents


def _nearest_above(
    spans: list[Span], parents: dict[int, Span], matches: Callable[[Span], bool]
) -> dict[int, Span | None]:
    """The nearest span above each that matches; every step up is taken once, however deep the trace."""
    found: dict[int, Span | None] = {}
    for span in spans:
        passed = []
        step = span
        while id(step) not in found:
            above = parents.get(id(step))
            if above is None or matches(above):
                found[id(step)] = above
            else:
                passed.append(step)
                step = above
        for each in passed:
            found[id(each)] = found[id(step)]
    return found


def _owners(own: list[Span], parents: dict[int, Span]) -> dict[int, Span | None]:
    """The sub-agent's span that each span belongs to; None for the root run."""
    if sum(span.kind == AGENT for span in own) < 2:
        return {id(span): None for span in own}
    agents = _nearest_above(own, parents, lambda span: span.kind == AGENT)
    starters = _nearest_above(own, parents, lambda span: span.kind in (AGENT, TOOL))
    calling = {id(agents[id(span)]) for span in own if span.kind == LLM}
    separate: set[int] = set()
    for span in own:
        above, starter = agents[id(span)], starters[id(span)]
        if span.kind != AGENT or above is None or starter is None or id(span) not in calling:
            continue
        if starter.kind == TOOL or id(above) in calling:
            separate.add(id(span))
    owners = _nearest_above(own, parents, lambda span: id(span) in separate)
    return {id(span): span if id(span) in separate else owners[id(span)] for span in own}


def _one(
    group: list[Span],
    head: Span | None,
    roots: list[Span],
    parents: dict[int, Span],
    owners: dict[int, Span | None],
    callers: dict[int, Span | None],
    source_format: str,
    ordinals: Ordinals,
) -> Trajectory:
    root = head or _main_root(roots)
    wrappers = _wrappers(group, callers)
    calls = [span for span in group if span.kind == LLM and id(span) not in wrappers]
    outer = [span for span in group if span.kind == LLM and id(span) in wrappers]
    tools = [span for span in group if span.kind == TOOL]
    talk = conversation_of(calls, outer, tools, root, _wrapped(calls, wrappers, parents))
    facts = Facts(
        id=root.trace_id if head is None else f"{root.trace_id}:{head.span_id}",
        group_id=next((span.session for span in [root, *group] if span.session), None),
        parent_id=None if head is None else _parent_id(head, parents, owners),
        usage=_usage(calls, outer, group, root),
        model=next((span.model for span in [*calls, *outer] if span.model), None),
        agent=root.agent or next((span.agent for span in group if span.agent), None),
        outcome=_outcome(root, calls),
        reference=next((span.reference for span in [root, *group] if span.reference is not None), None),
        native_scores=[score for span in group for score in span.scores] or None,
        metadata=dict(sorted((root.metadata() if callable(root.metadata) else root.metadata).items())),
        size=sum(span.record.size for span in group),
    )
    starts = [span.start for span in group if span.start]
    if starts:
        facts.time = _EPOCH + timedelta(microseconds=min(starts) // 1000)
    output, _ = talk.final_output()
    if output is None and root.add_output is not None:
        from_root = Conversation()
        if root.add_output(from_root):
            facts.output = from_root.final_output()[0]
            facts.output_rule = ROOT_OUTPUT if facts.output is not None else None
    if head is None and root.parent_id:
        talk.issue(MISSING_ROOT)
    for span in group:
        for issue in span.record.issues:
            talk.issue(issue)
        if span.is_error:
            talk.events.append(Event("error", span.error_type or span.name, span.error_text))
    if not any(message.text for message in talk.messages):
        talk.issue(CONTENT_NOT_CAPTURED)
    first = min((span.record for span in group), key=lambda record: (record.uri, record.offset, record.ordinal))
    return trajectory(first, source_format, talk, facts, ordinals.of(first))


def _main_root(roots: list[Span]) -> Span:
    """The root that has no parent at all, else the first of those whose parent is missing; the agent's among several."""
    true = [span for span in roots if not span.parent_id] or roots
    return next((span for span in true if span.kind == AGENT), true[0])


def _wrappers(group: list[Span], callers: dict[int, Span | None]) -> set[int]:
    """Model-call spans that have a model call of the group below them; `callers` are the nearest model calls above."""
    return {id(callers[id(span)]) for span in group if span.kind == LLM and callers[id(span)] is not None}


def _wrapped(calls: list[Span], wrappers: set[int], parents: dict[int, Span]) -> dict[int, Span]:
    """The nearest model-call span above each model call that is the only one below it."""
    if not wrappers:
        return {}
    above_of = _nearest_above(calls, parents, lambda span: id(span) in wrappers)
    counts = Counter(id(above_of[id(call)]) for call in calls)
    found = ((id(call), above_of[id(call)]) for call in calls)
    return {key: above for key, above in found if above is not None and counts[id(above)] == 1}


def _usage(calls: list[Span], outer: list[Span], group: list[Span], root: Span) -> Usage:
    start = root.start if root.start else min((span.start for span in group if span.start), default=None)
    end = root.end if root.end else max((span.end for span in group if span.end), default=None)
    latency = integer((end - start) // 1_000_000) if start is not None and end is not None else None
    told = [span.usage for span in calls if span.usage is not None and span.usage != _NO_USAGE]
    if not told:
        told = [span.usage for span in outer if span.usage is not None and span.usage != _NO_USAGE][:1]
    if not told and root.usage is not None:
        told = [root.usage]
    return total_usage(told, latency)


def _outcome(root: Span, calls: list[Span]) -> str | None:
    if root.is_error:
        return "error"
    if calls and calls[-1].is_error:
        return "error"
    if calls and calls[-1].finish is not None:
        return calls[-1].finish
    return "ok" if root.is_error is False else None


def _parent_id(head: Span, parents: dict[int, Span], owners: dict[int, Span | None]) -> str:
    above = parents.get(id(head))
    owner = owners.get(id(above)) if above is not None else None
    return head.trace_id if owner is None else f"{owner.trace_id}:{owner.span_id}"
