"""Container `llm_calls`: one record is one model call: request and response, a response alone, or a line of a batch.

Chat completions, Responses, Anthropic and Gemini bodies, streamed or whole; proxy and litellm logs. Calls of one conversation are joined: by
their conversation id; else those of one file of which one is given all that another was given and answered. Of a batch, the line of the input
file joins the one of the output file by `custom_id`. Usage is summed over the calls of a conversation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from pipelines.formats.build import Facts, metadata_of, trajectory
from pipelines.formats.calls import Call, head_of, is_request, is_response, read_call
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.messages import error_event
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.spans.talk import threads_of
from pipelines.formats.usage import total_usage
from pipelines.formats.values import dict_of, id_text, parse_time, unwrapped
from schemas.reject import RejectReason
from schemas.trajectory import Trajectory, Usage

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
AMBIGUOUS_CUSTOM_ID = "ambiguous_custom_id"
PROMPT_MISSING = "prompt_missing"


class LlmCalls(Container):
    """Records of single model calls."""

    name = "llm_calls"
    grouping = "key"
    order = 300

    def detect(self, value: Any) -> str | None:
        """A batch line, a request with its response, or a provider's response or request body."""
        if type(value) is not dict:
            return None
        if type(value.get("custom_id")) is str and any(
            key in value for key in ("body", "response", "result", "params")
        ):
            return "`custom_id`, as in batch files"
        response = unwrapped(value.get("response"))
        if type(unwrapped(value.get("request"))) is dict and "response" in value:
            call = read_call(SourceRecord(value, "", 0, 0))
            if call is not None and (call.request is not None or is_response(dict_of(call.response))):
                return "`request` and `response`"
        if type(response) is dict and (is_response(response) or "body" in response):
            return "`response` is a provider's response"
        if type(response) is list and "method" in value:
            return "`response` is a list of streamed chunks"
        if is_response(value):
            return "the body of a provider's response"
        if "body" in value and "status" in value and "headers" in value:
            return "a recorded HTTP response"
        if set(value) <= {"error", "type", "request_id"} and type(dict_of(value.get("error")).get("message")) is str:
            return "the body of an error answer"
        return "the body of a request to a model" if is_request(value) else None

    def key(self, record: SourceRecord) -> str | None:
        """The conversation, the batch's `custom_id`, or the file and how the conversation begins."""
        call = read_call(record)
        if call is None:
            return None
        if call.conversation_id is not None:
            return f"conversation {call.conversation_id}"
        if call.custom_id is not None:
            return f"batch {call.custom_id}"
        if dict_of(call.response).get("object") == "response" or call.previous_id is not None:
            return f"file {record.uri}"
        head = head_of(call)
        return None if head is None else f"file {record.uri} {head}"

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectories of calls with one key."""
        result = Normalised()
        calls: list[Call] = []
        for record in records:
            call = read_call(record)
            if call is None or _says_nothing(call):
                result.rejects.append(_rejected(record, self.name))
            else:
                calls.append(call)
        if calls and all(call.custom_id is not None and call.conversation_id is None for call in calls):
            calls = _join_batch(calls, result)
        result.records_used += len(calls)
        conversations: dict[str | None, list[Call]] = {}
        for call in _chained(calls):
            conversations.setdefault(call.conversation_id, []).append(call)
        result.trajectories += self._threads(conversations.pop(None, []))
        for conversation in conversations.values():
            result.trajectories.append(_conversation(conversation, self.name))
        return result

    def _threads(self, calls: list[Call]) -> Iterator[Trajectory]:
        """Calls without a conversation's id, joined where one goes on with what another was given."""
        pairs = [(call.given(), (call.answers() or [Conversation()])[0]) for call in calls]
        order = sorted(range(len(calls)), key=lambda number: len(pairs[number][0].messages))
        calls, pairs = [calls[number] for number in order], [pairs[number] for number in order]
        for thread in threads_of(pairs, strictly=True):
            members = [calls[number] for number in thread.calls]
            if len(members) == 1 and len(members[0].answers()) > 1:
                yield from _choices(members[0], self.name)
            else:
                yield _made(members, thread.whole(), self.name)


def _says_nothing(call: Call) -> bool:
    if call.custom_id is not None or call.request is not None:
        return False
    return call.response is None or not any(talk.messages for talk in call.answers())


def _rejected(record: SourceRecord, source_format: str) -> Any:
    value = record.value
    if type(value) is dict and value.get("error"):
        detail = "an error answer without its request: there is nothing in it to grade"
        return reject(record, RejectReason.NO_MESSAGES, detail, source_format)
    detail = unknown_detail(value) if type(value) is dict else "the record is no model call"
    return reject(record, RejectReason.UNKNOWN_FORMAT, detail, source_format)


def _join_batch(calls: list[Call], result: Normalised) -> list[Call]:
    """Each answer with its prompt; where several lines share an id beyond one of each, they can't be told apart and stay single."""
    prompts = [call for call in calls if call.request is not None]
    answers = [call for call in calls if call.request is None]
    if len(prompts) == 1 and len(answers) == 1:
        answer = answers[0]
        answer.request = prompts[0].request
        answer.model = answer.model or prompts[0].model
        result.records_used += 1
        return [answer]
    if len(answers) > 1 and prompts:
        for call in calls:
            call.metadata[AMBIGUOUS_CUSTOM_ID] = True
    return calls


def _chained(calls: list[Call]) -> list[Call]:
    """Responses that name their predecessor, each given what went before it; others in their order."""
    by_id = {call.id: call for call in calls if call.id is not None}
    if not any(call.previous_id in by_id for call in calls if call.previous_id):
        return calls
    chain_of: dict[int, tuple[str, int]] = {}
    for call in calls:
        passed: dict[int, Call] = {}
        step = call
        while id(step) not in chain_of and id(step) not in passed:
            passed[id(step)] = step
            before = by_id.get(step.previous_id) if step.previous_id else None
            if before is None:
                break
            step = before
        head, place = chain_of.get(id(step)) or (step.id or step.record.address, -1)
        for earlier in reversed(passed):
            place += 1
            chain_of[earlier] = (head, place)
    lengths = Counter(head for head, _ in chain_of.values())
    for call in calls:
        head, _ = chain_of[id(call)]
        if call.conversation_id is None and lengths[head] > 1:
            call.conversation_id = head
    return sorted(calls, key=lambda call: (call.conversation_id or "", chain_of[id(call)][1]))


def _conversation(calls: list[Call], source_format: str) -> Trajectory:
    """All calls of one conversation id, in the order of their times; without times, in that of their lengths and places."""
    times = [parse_time(call.time)[0] for call in calls]
    if None not in times:
        calls = [call for _, call in sorted(zip(times, calls, strict=True), key=lambda pair: pair[0] or _EPOCH)]
    told = [(call, call.given()) for call in calls]
    if None in times:  # without times a call that was given more came later, whichever file it stands in
        told.sort(key=lambda pair: len(pair[1].messages))
        calls = [call for call, _ in told]
    pairs = [(given, (call.answers() or [Conversation()])[0]) for call, given in told]
    whole = Conversation()
    for thread in threads_of(pairs):
        whole.extend(thread.whole())
    return _made(calls, whole, source_format)


def _choices(call: Call, source_format: str) -> list[Trajectory]:
    """One trajectory a choice; the usage is the first's."""
    made = []
    for number, answer in enumerate(call.answers()):
        talk = call.given()
        talk.extend(answer)
        facts = _facts([call])
        facts.id = f"{facts.id or call.record.address}#{number}"
        facts.group_id = facts.group_id or call.id
        if number:
            facts.usage = Usage()
        made.append(trajectory(call.record, source_format, talk, facts, number))
    return made


def _made(calls: list[Call], talk: Conversation, source_format: str) -> Trajectory:
    if all(call.request is None for call in calls):
        talk.issue(PROMPT_MISSING)
    for call in calls:
        if call.error:
            talk.events.append(error_event(call.error))
        if call.metadata.pop(AMBIGUOUS_CUSTOM_ID, None):
            talk.issue(AMBIGUOUS_CUSTOM_ID)
    return trajectory(calls[0].record, source_format, talk, _facts(calls))


def _facts(calls: list[Call]) -> Facts:
    first, last = calls[0], calls[-1]
    latencies = [call.usage.latency_ms for call in calls if call.usage.latency_ms is not None]
    return Facts(
        id=first.custom_id or first.conversation_id or first.id,
        group_id=first.conversation_id or id_text(dict_of(first.response).get("previous_response_id")),
        time=first.time,
        usage=total_usage((call.usage for call in calls), sum(latencies) if latencies else None),
        model=next((call.model for call in calls if call.model), None),
        outcome=last.outcome,
        metadata=metadata_of(first.metadata, nested=None),
        size=sum(call.record.size for call in calls),
    )
