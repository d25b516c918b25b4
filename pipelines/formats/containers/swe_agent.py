"""Containers of SWE-agent (`swe_agent`), its data sets with `ai` texts (`swe_agent_rows`), and mini-swe-agent (`mini_swe_agent`).

`history` and `trajectory` of a `.traj` file tell one story twice: the history is read where it has at least as many agent turns, else the
steps. Demonstrations are flagged. The submission (a patch) is the output where there is one.
"""

from __future__ import annotations

import posixpath
from typing import Any

from pipelines.formats.build import Facts, metadata_of, trajectory
from pipelines.formats.container import SourceRecord
from pipelines.formats.dialects import normalise_message, normalise_messages
from pipelines.formats.dialects.content import text_of
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.single import OneTrajectoryARecord
from pipelines.formats.text_actions import has_shell_answers, with_fenced_calls, with_shell_calls
from pipelines.formats.usage import total_usage, usage_of
from pipelines.formats.values import cost, dict_of, id_text, integer, list_of, string_of
from schemas.trajectory import Trajectory, Usage

SUBMISSION = "submission"
_TOOL = "bash"
_OUTCOMES = {"submitted": "ok", "exit_cost": "limit", "exit_context": "limit", "exit_format": "error", "early_exit": "error",
             "Submitted": "ok", "LimitsExceeded": "limit"}  # fmt: skip


class SweAgent(OneTrajectoryARecord):
    """`.traj` files of SWE-agent."""

    name = "swe_agent"
    order = 140

    def detect(self, value: Any) -> str | None:
        """`history` of messages with an `agent` or demonstrations, or `trajectory` steps with `action` and `observation`."""
        if type(value) is not dict:
            return None
        history, steps = list_of(value.get("history")), list_of(value.get("trajectory"))
        if history and any("agent" in dict_of(item) or "is_demo" in dict_of(item) for item in history[:3]):
            return "`history` with `agent`, as in SWE-agent trajectories"
        if steps and {"action", "observation", "response"} <= set(dict_of(steps[0])):
            return "`trajectory` of actions and observations, as in SWE-agent trajectories"
        return None

    def read(self, record: SourceRecord, value: dict[str, Any]) -> Trajectory | None:
        """The run of one file."""
        history = [item for item in list_of(value.get("history")) if type(item) is dict]
        steps = [item for item in list_of(value.get("trajectory")) if type(item) is dict]
        turns = sum(1 for item in history if item.get("role") == "assistant" and not item.get("is_demo"))
        talk = Conversation()
        if history and (turns >= len(steps) or not steps):
            _add_histories(history, steps if turns == len(steps) else [], talk)
        else:
            opening = [item for item in history if item.get("role") != "assistant" or item.get("is_demo")]
            _add_histories(opening[: _opening_length(history)], [], talk)
            for step in steps:
                _add_step(step, talk)
        info = dict_of(value.get("info"))
        stats = dict_of(info.get("model_stats"))
        facts = Facts(id=id_text(value.get("instance_id")) or posixpath.basename(record.uri).split(".traj")[0] or None)
        facts.agent = "swe-agent"
        facts.usage = Usage(
            integer(stats.get("tokens_sent")),
            integer(stats.get("tokens_received")),
            None,
            None,
            cost(stats.get("instance_cost")),
        )
        submission = string_of(info.get("submission"))
        if submission is not None:
            facts.output, facts.output_rule, facts.extra = submission, SUBMISSION, {"diff": submission}
        status = string_of(info.get("exit_status"))
        facts.outcome = _OUTCOMES.get(status or "", _OUTCOMES.get((status or "").split(" ")[0]))
        facts.metadata = metadata_of({"environment": value.get("environment"), "exit_status": status}, nested=None)
        return trajectory(record, self.name, talk, facts) if talk.messages else None


def _opening_length(history: list[dict[str, Any]]) -> int:
    """How many messages stand before the agent's first own turn."""
    for number, item in enumerate(history):
        if item.get("role") == "assistant" and not item.get("is_demo"):
            return number
    return len(history)


def _add_histories(history: list[dict[str, Any]], steps: list[dict[str, Any]], talk: Conversation) -> None:
    """The history; where its actions are only text, the steps say what they were, and the next user message answers."""
    in_text = not any(item.get("tool_calls") for item in history)
    actions = iter(steps)
    pending: str | None = None
    for item in history:
        flags = ("demonstration",) if item.get("is_demo") else ()
        if pending is not None and item.get("role") == "user":
            talk.result(text_of(item.get("content"), talk), pending, _TOOL, None, flags)
            pending = None
            continue
        normalise_message(
            {key: entry for key, entry in item.items() if key not in ("agent", "message_type")}, talk, flags
        )
        pending = None
        if item.get("role") == "assistant" and not flags:
            action = string_of(next(actions, {}).get("action"))
            if in_text and action is not None:
                pending = talk.call(_TOOL, {"command": action}, f"action_{len(talk.messages) - 1}")


def _add_step(step: dict[str, Any], talk: Conversation) -> None:
    talk.say("assistant", string_of(step.get("response")) or string_of(step.get("thought")))
    action = string_of(step.get("action"))
    observation = step.get("observation")
    if action is not None:
        call_id = talk.call(_TOOL, {"command": action}, f"action_{len(talk.messages) - 1}")
        if observation is not None:
            talk.result(text_of(observation, talk), call_id, _TOOL, None)


class SweAgentRows(OneTrajectoryARecord):
    """Rows of SWE-agent data sets: `trajectory` of `{role: system|user|ai, text}` with `exit_status`."""

    name = "swe_agent_rows"
    order = 141

    def detect(self, value: Any) -> str | None:
        """`trajectory` whose items have `role` and `text`."""
        first = dict_of(next(iter(list_of(value.get("trajectory"))), None)) if type(value) is dict else {}
        if "role" in first and ("text" in first or "system_prompt" in first or "content" in first):
            return "`trajectory` is a list of messages with `role`"
        return None

    def read(self, record: SourceRecord, value: dict[str, Any]) -> Trajectory | None:
        """One row's run."""
        told = Conversation()
        normalise_messages(list_of(value["trajectory"]), told)
        talk = with_fenced_calls(told)
        facts = Facts(id=id_text(value.get("instance_id")), model=string_of(value.get("model_name")), agent="swe-agent")
        patch = string_of(value.get("generated_patch"))
        if patch is not None:
            facts.extra = {"diff": patch}
        status = string_of(value.get("exit_status"))
        facts.outcome = _OUTCOMES.get((status or "").split(" ")[0])
        if type(value.get("target")) is bool:
            facts.native_scores = [{"name": "target", "passed": value["target"]}]
        facts.metadata = metadata_of({"exit_status": status}, nested=None)
        return trajectory(record, self.name, talk, facts) if talk.messages else None


class MiniSweAgent(OneTrajectoryARecord):
    """Trajectories of mini-swe-agent: `trajectory_format`, `info` and messages whose actions are shell blocks in the text."""

    name = "mini_swe_agent"
    order = 130

    def detect(self, value: Any) -> str | None:
        """`trajectory_format` mini-swe-agent, or `info` with an exit status beside `messages`."""
        if type(value) is not dict or type(value.get("messages")) is not list:
            return None
        if str(value.get("trajectory_format", "")).startswith("mini-swe-agent"):
            return f"`trajectory_format` {value['trajectory_format']}"
        if "exit_status" in dict_of(value.get("info")):
            return "`info.exit_status` beside `messages`, as in mini-swe-agent trajectories"
        return None

    def read(self, record: SourceRecord, value: dict[str, Any]) -> Trajectory | None:
        """The run of one file."""
        talk = Conversation()
        told = []
        for message in value["messages"]:
            body = dict_of(message)
            if body.get("role") == "exit":
                continue
            normalise_message(body, talk)
            response = dict_of(dict_of(body.get("extra")).get("response"))
            if response.get("usage"):
                told.append(usage_of(response["usage"]))
        if has_shell_answers(talk):
            talk = with_shell_calls(talk)
        info = dict_of(value.get("info"))
        stats = dict_of(info.get("model_stats"))
        total = total_usage(told)
        money = cost(stats.get("instance_cost"))
        facts = Facts(id=id_text(value.get("instance_id")) or posixpath.basename(record.uri).split(".traj")[0] or None)
        facts.usage = Usage(
            total.input_tokens,
            total.output_tokens,
            total.cached_input_tokens,
            total.reasoning_tokens,
            money or total.cost_usd,
        )
        facts.agent = "mini-swe-agent"
        facts.model = string_of(dict_of(dict_of(dict_of(info.get("config")).get("model"))).get("model_name"))
        submission = string_of(info.get("submission"))
        if submission is not None:
            facts.output, facts.output_rule, facts.extra = submission, SUBMISSION, {"diff": submission}
        facts.outcome = _OUTCOMES.get(str(info.get("exit_status")))
        facts.metadata = metadata_of({"exit_status": info.get("exit_status")}, nested=None)
        return trajectory(record, self.name, talk, facts) if talk.messages else None
