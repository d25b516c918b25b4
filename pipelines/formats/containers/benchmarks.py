"""Containers of benchmarks: tau-bench (`tau_bench`), tau2 (`tau2_bench`), ToolBench (`toolbench`), AgentBench (`agentbench`); and `preference_pairs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import Facts, metadata_of, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.dialects import normalise_message, normalise_messages
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.json_values import compact_json
from pipelines.formats.single import OneTrajectoryARecord
from pipelines.formats.usage import total_usage, usage_of
from pipelines.formats.values import (
    cost,
    dict_of,
    id_text,
    list_of,
    milliseconds,
    number,
    scalar_text,
    string_of,
    unwrapped,
)
from schemas.reject import RejectReason
from schemas.trajectory import Event, Trajectory, Usage


class TauBench(OneTrajectoryARecord):
    """tau-bench runs: `traj` and `reward`. The user's turns are simulated."""

    name = "tau_bench"
    order = 330

    def detect(self, value: Any) -> str | None:
        """`traj` beside `reward`."""
        if type(value) is dict and type(value.get("traj")) is list and "reward" in value:
            return "`traj` beside `reward`, as in tau-bench"
        return None

    def read(self, record: SourceRecord, value: dict[str, Any]) -> Trajectory | None:
        """One run of one task."""
        talk = Conversation()
        normalise_messages(value["traj"], talk)
        info = dict_of(value.get("info"))
        task = dict_of(info.get("task"))
        calls = [{"name": str(dict_of(action).get("name") or ""), "arguments": dict_of(action).get("kwargs")}
                 for action in list_of(task.get("actions"))]  # fmt: skip
        task_id, trial = id_text(value.get("task_id")), id_text(value.get("trial"))
        facts = Facts(
            id=None if task_id is None else f"{task_id}:{trial}" if trial is not None else task_id, group_id=task_id
        )
        outputs = list_of(task.get("outputs"))
        facts.reference = "\n".join(scalar_text(item) or "" for item in outputs) if outputs else None
        facts.extra = {"reference_tool_calls": calls} if task else None
        facts.native_scores = [{"name": "reward", "value": number(value["reward"])}]
        facts.usage = Usage(cost_usd=cost(info.get("total_cost") or value.get("agent_cost")))
        facts.metadata = metadata_of(
            {"task_id": task_id, "trial": trial, "user_instruction": task.get("instruction")}, nested=None
        )
        return trajectory(record, self.name, talk, facts) if talk.messages else None


class Tau2Bench(OneTrajectoryARecord):
    """tau2 results: one trajectory a simulation. A user's own tool calls are not the agent's and are left out."""

    name = "tau2_bench"
    order = 331

    def detect(self, value: Any) -> str | None:
        """`simulations` beside `tasks`, or one simulation with its messages."""
        if type(value) is not dict:
            return None
        if type(value.get("tasks")) is list and ("simulations" in value or "simulation_index" in value):
            return "`simulations` beside `tasks`, as in tau2 results"
        if type(value.get("messages")) is list and "reward_info" in value and "task_id" in value:
            return "`reward_info` beside `messages`, as in a tau2 simulation"
        return None

    def read(self, record: SourceRecord, value: dict[str, Any]) -> Sequence[Trajectory]:
        """All simulations of a results file."""
        made: list[Trajectory] = []
        for simulation in list_of(value.get("simulations")) if "tasks" in value else [value]:
            body = dict_of(simulation)
            talk = Conversation()
            told = []
            for message in list_of(body.get("messages")):
                for part in list_of(dict_of(message).get("tool_messages")) or [message]:
                    _add_tau2(dict_of(part), talk)
                told.append(
                    usage_of(dict_of(message).get("usage")) if dict_of(message).get("role") == "assistant" else Usage()
                )
            if not talk.messages:
                continue
            facts = Facts(id=id_text(body.get("id")), group_id=id_text(body.get("task_id")), time=body.get("timestamp"))
            reward = number(dict_of(body.get("reward_info")).get("reward"))
            facts.native_scores = [{"name": "reward", "value": reward}] if reward is not None else None
            counted = total_usage(told)
            facts.usage = Usage(counted.input_tokens, counted.output_tokens, counted.cached_input_tokens, counted.reasoning_tokens,
                                cost(body.get("agent_cost")), milliseconds(body.get("duration")))  # fmt: skip
            facts.model = string_of(dict_of(dict_of(value.get("info")).get("agent_info")).get("llm"))
            shown = {
                "task_id": body.get("task_id"),
                "trial": body.get("trial"),
                "termination_reason": body.get("termination_reason"),
            }
            facts.metadata = metadata_of(shown, nested=None)
            facts.size = record.size if not made else 0
            made.append(trajectory(record, self.name, talk, facts, len(made)))
        return made


def _add_tau2(message: dict[str, Any], talk: Conversation) -> None:
    if message.get("role") == "user":
        calls = [call for call in list_of(message.get("tool_calls")) if dict_of(call).get("requestor") == "assistant"]
        if message.get("content") is not None or calls:
            normalise_message({**message, "tool_calls": calls}, talk)
    elif message.get("role") == "tool":
        if message.get("requestor") != "user":
            talk.result(scalar_text(message.get("content")), message.get("id"), None,
                        message.get("error") if type(message.get("error")) is bool else None)  # fmt: skip
    else:
        normalise_message(message, talk)


class ToolBench(OneTrajectoryARecord):
    """ToolBench answers: of the growing prefixes in `train_messages` the last; the search tree's failed branches are left out."""

    name = "toolbench"
    order = 340

    def detect(self, value: Any) -> str | None:
        """`answer_generation` beside `tree` or `trys`."""
        if (
            type(value) is dict
            and type(value.get("answer_generation")) is dict
            and ("tree" in value or "trys" in value)
        ):
            return "`answer_generation` beside `tree`, as in ToolBench answers"
        return None

    def read(self, record: SourceRecord, value: dict[str, Any]) -> Trajectory | None:
        """The answer's conversation."""
        answer = value["answer_generation"]
        talk = Conversation()
        longest: list[Any] = []
        for prefix in list_of(answer.get("train_messages")):
            if type(prefix) is list and len(prefix) > len(longest):
                longest = prefix
        if longest:
            normalise_messages(longest, talk)
        elif answer.get("query"):
            talk.say("user", scalar_text(answer["query"]))
        facts = Facts(input=string_of(answer.get("query")))
        final = unwrapped(answer.get("final_answer"))
        text = string_of(dict_of(final).get("final_answer")) if type(final) is dict else string_of(final)
        if text is not None:
            facts.output, facts.output_rule = text, "final_answer"
        kind = dict_of(final).get("return_type") or answer.get("finish_type")
        facts.outcome = (
            "ok" if kind == "give_answer" else "incomplete" if answer.get("valid_data") is False or kind else None
        )
        facts.native_scores = [{"name": "win", "passed": value["win"]}] if type(value.get("win")) is bool else None
        shown = {key: answer.get(key) for key in ("valid_data", "query_count", "total_tokens", "finish_type")}
        facts.metadata = metadata_of(shown, nested=None)
        return trajectory(record, self.name, talk, facts) if talk.messages else None


class AgentBench(OneTrajectoryARecord):
    """AgentBench runs: `output.history`."""

    name = "agentbench"
    order = 341

    def detect(self, value: Any) -> str | None:
        """`output.history` of messages with roles."""
        history = list_of(dict_of(value.get("output")).get("history")) if type(value) is dict else []
        if history and "role" in dict_of(history[0]):
            return "`output.history`, as in AgentBench runs"
        return None

    def read(self, record: SourceRecord, value: dict[str, Any]) -> Trajectory | None:
        """One run."""
        output = value["output"]
        talk = Conversation()
        normalise_messages(output["history"], talk)
        if value.get("error"):
            talk.events.append(Event("error", None, scalar_text(value["error"])))
        result = output.get("result")
        facts = Facts(id=id_text(value.get("index")), outcome="error" if value.get("error") else None)
        facts.native_scores = [{"name": "result", "value": result}] if result is not None else None
        facts.metadata = metadata_of({"status": output.get("status")}, nested=None)
        return trajectory(record, self.name, talk, facts) if talk.messages else None


class PreferencePairs(Container):
    """Preference pairs (`chosen` and `rejected`): two answers, not one run. A mapping says which of them to grade."""

    name = "preference_pairs"
    order = 360

    def detect(self, value: Any) -> str | None:
        """`chosen` and `rejected`, or the messages of both."""
        if type(value) is dict:
            for first, second in (("chosen", "rejected"), ("chosen_messages", "rejected_messages")):
                if first in value and second in value:
                    return f"`{first}` and `{second}`, as in preference pairs"
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """Rejects every pair, with the mapping that picks one side."""
        result = Normalised()
        for record in records:
            keys = dict_of(record.value)
            key = "chosen_messages" if "chosen_messages" in keys else "chosen"
            inner = unwrapped(keys.get(key))
            field = "messages" if type(inner) is list else "output"
            shown = compact_json(list(keys)[:10])
            detail = (
                f"a preference pair is two answers, not one run (keys {shown}): choose one, e.g. "
                f"input: {{fields: {{{field}: $.{key}}}}}"
            )
            result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
        return result
