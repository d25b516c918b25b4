from __future__ import annotations

import pytest

from graders import ConfigError, evaluate
from graders.configured import configure
from schemas.score import ErrorType
from schemas.trajectory import Message, Trajectory
from tests.graders.records import grade, said, statuses, transcripts

ROWS = transcripts(["an error", "ok"], ["ok", "fine"], [], [None], [""], ["ok", "error"])


def test_passes_where_any_message_matches() -> None:
    assert statuses(ROWS, type="transcript-matches", pattern="error") == [
        "pass",
        "fail",
        "fail",
        "fail",
        "fail",
        "pass",
    ]


@pytest.mark.parametrize("config", [{"type": "transcript-not-matches"}, {"type": "transcript-matches", "negate": True}])
def test_negated_fails_where_there_is_no_message(config: dict[str, object]) -> None:
    assert statuses(ROWS, pattern="error", **config) == ["fail", "pass", "fail", "fail", "pass", "fail"]


@pytest.mark.parametrize(("on_empty", "status"), [("pass", "pass"), ("fail", "fail"), ("error", "error")])
@pytest.mark.parametrize("kind", ["transcript-matches", "transcript-not-matches"])
def test_on_empty_decides_transcripts_without_messages(kind: str, on_empty: str, status: str) -> None:
    (score,) = grade(transcripts([None]), type=kind, pattern="a", on_empty=on_empty)
    assert score.status.value == status
    if status == "error":
        assert (score.error_type, score.details) == (ErrorType.MISSING_FIELD, {"field": "messages"})
    else:
        mark = "✔" if status == "pass" else "✘"
        assert score.explanation == f"{mark} no assistant messages in transcript to check"


def test_only_the_agents_own_messages_count() -> None:
    row = Trajectory(
        messages=(
            Message("user", "error"),
            Message("tool", "error"),
            Message("system", "error"),
            Message("assistant", "error", flags=("injected",)),
            Message("assistant", "error", flags=("demonstration",)),
            Message("assistant", "fine"),
        )
    )
    assert statuses([row], type="transcript-matches", pattern="error") == ["fail"]


def test_messages_are_never_joined() -> None:
    assert statuses(transcripts(["foo", "bar"]), type="transcript-matches", pattern="(?s)foo.*bar") == ["fail"]


@pytest.mark.parametrize(
    ("turn", "wanted"),
    [(0, ["pass", "fail", "fail", "fail", "fail", "fail"]), (1, ["fail", "fail", "fail", "fail", "error", "pass"])],
)
def test_turn_counts_assistant_messages_from_0(turn: int, wanted: list[str]) -> None:
    assert statuses(ROWS, type="transcript-matches", pattern="error", turn=turn) == wanted


def test_turn_out_of_range_is_an_error_also_negated() -> None:
    for kind in ("transcript-matches", "transcript-not-matches"):
        (score,) = grade(transcripts(["a"]), type=kind, pattern="a", turn=3)
        assert (score.status.value, score.error_type) == ("error", ErrorType.TURN_OUT_OF_RANGE)
        assert score.details == {"turn": 3}


@pytest.mark.parametrize(
    ("turns", "wanted"),
    [
        ("any", ["pass", "pass", "fail"]),
        ("all", ["pass", "fail", "fail"]),
        ("first", ["pass", "fail", "fail"]),
        ("last", ["pass", "pass", "fail"]),
    ],
)
def test_turns_quantifies(turns: str, wanted: list[str]) -> None:
    rows = transcripts(["ab", "ba"], ["b", "a"], ["c", "d"])
    assert statuses(rows, type="transcript-contains", substring="a", turns=turns) == wanted
    flipped = [{"pass": "fail", "fail": "pass"}[status] for status in wanted]
    assert statuses(rows, type="transcript-not-contains", substring="a", turns=turns) == flipped


def test_a_stopped_match_leaves_open_only_what_it_could_change() -> None:
    rows = transcripts(["a" * 50, "b"], ["a" * 50, "x"], ["x", "b"])
    stopped = {"pattern": "b", "limits": {"subject_bytes": 20}}
    assert statuses(rows, type="transcript-matches", **stopped) == ["pass", "error", "pass"]
    assert statuses(rows, type="transcript-not-matches", **stopped) == ["fail", "error", "fail"]
    assert statuses(rows, type="transcript-matches", turns="all", **stopped) == ["error", "fail", "fail"]
    assert statuses(rows, type="transcript-not-matches", turns="all", **stopped) == ["error", "pass", "pass"]


def test_evidence_is_the_first_match_with_message_span_and_quote() -> None:
    score = evaluate(
        {"type": "transcript-matches", "pattern": "(?i)i will not"},
        {
            "messages": [
                {"role": "user", "content": "please"},
                {"role": "assistant", "content": None},
                {"role": "assistant", "content": "Ünd I WILL NOT"},
                {"role": "assistant", "content": "i will not"},
            ]
        },
    )
    assert score.explanation == "✔ transcript matches pattern /(?i)i will not/"
    (place,) = score.evidence
    assert (place.message_index, place.start, place.end, place.quote) == (2, 4, 14, "I WILL NOT")


def test_a_failed_search_and_a_negated_pass_have_no_places() -> None:
    failed = evaluate({"type": "transcript-matches", "pattern": "x"}, said("a"))
    passed = evaluate({"type": "transcript-not-matches", "pattern": "x"}, said("a"))
    assert (failed.explanation, failed.evidence) == ("✘ transcript does not match pattern /x/", ())
    assert (passed.explanation, passed.evidence) == ("✔ transcript does not match pattern /x/", ())


def test_a_negated_fail_shows_what_was_found() -> None:
    score = evaluate({"type": "transcript-not-contains", "substring": "rm -rf"}, said("ok", "I ran rm -rf /"))
    assert score.explanation == "✘ 'rm -rf' found in transcript"
    assert [(place.message_index, place.quote) for place in score.evidence] == [(1, "rm -rf")]


def test_evidence_can_be_switched_off() -> None:
    score = evaluate({"type": "transcript-matches", "pattern": "a", "evidence": False}, said("a"))
    assert score.status.value == "pass"
    assert score.evidence == ()


def test_a_not_type_cannot_be_denied() -> None:
    with pytest.raises(ConfigError, match="negate: the type is negated by its name"):
        configure({"type": "transcript-not-matches", "pattern": "a", "negate": False})
    same = configure({"type": "transcript-not-matches", "pattern": "a", "negate": True})
    assert same.grader_hash == configure({"type": "transcript-not-matches", "pattern": "a"}).grader_hash


def test_turn_and_turns_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match="give one of them"):
        configure({"type": "transcript-matches", "pattern": "a", "turn": 0, "turns": "all"})
    with pytest.raises(ConfigError, match="turn: "):
        configure({"type": "transcript-matches", "pattern": "a", "turn": -1})
