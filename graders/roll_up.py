"""Rolling outcomes up: a weighted score, repeated attempts, pass@k, a suite, a quality policy.

`roll_up(config, given)` takes the seed systems' objects:

| `config` | `given` |
|---|---|
| `{scoring: {weights: {type: w}, threshold}}` | `{grader_scores: {type: score}}`, `{grade: …}` or `{grades: […]}` |
| `{sampling: {samples, reducer, minimum_pass_rate}}` | `{attempts: […]}` |
| `{metric: pass@k or pass^k, n, c, k, threshold}` | – |
| `{suite: {cases: […]}}` | `{results: […]}` |
| `{policy: {schema_version: 1, rules: […]}}` | `{results: […], summary: {…}}` |

- `scoring` passes when the weighted mean reaches the threshold (verdicts don't count then); without one, when all
  graders pass.
- `sampling` passes when all, any, more than half or a share of the attempts pass.
- `metric` passes when the estimate reaches the threshold, which is 1 unless given.
- `suite` passes when there are results and all of them pass; a case without a result is an error.
- `policy` passes when every rule is met (`graders.quality_policy`).

An outcome is a `Score`, a status, a boolean, None (an error) or an object with `status` or `passed`, and `score`.
Errors are never counted as fails: they make the result an error wherever they could change it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from graders.attempts import Reducer, reduce_attempts, status_of
from graders.configured import problems_of
from graders.errors import ConfigError, Problem, nearest
from graders.quality_policy import QualityPolicy, apply_rule, overall
from graders.trials import pass_at_k, pass_hat_k
from graders.verdict import Outcome, reaches, trajectory_verdict
from schemas.score import Score, Status


@dataclass(frozen=True, slots=True)
class RolledUp:
    """The outcome of a roll-up: a status, the number behind it (0..1) where there is one, and how it came about."""

    status: Status
    score: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class _Config(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Scoring(_Config):
    """Weights by grader type (1 where none is given) and an inclusive threshold."""

    weights: dict[str, float] = Field(default_factory=dict)
    threshold: float | None = Field(default=None, ge=0, le=1)

    @model_validator(mode="after")
    def _not_negative(self) -> Scoring:
        if any(weight < 0 for weight in self.weights.values()):
            raise ValueError("a weight is not negative")
        return self


class Sampling(_Config):
    """How many attempts are made and what of them must pass."""

    samples: int = Field(default=1, ge=1, le=20)
    reducer: Reducer = "all"
    minimum_pass_rate: float | None = Field(default=None, ge=0, le=1)

    @model_validator(mode="after")
    def _rate_where_needed(self) -> Sampling:
        if (self.reducer == "minimum_pass_rate") != (self.minimum_pass_rate is not None):
            raise ValueError("`minimum_pass_rate` goes with the reducer of that name, and with no other")
        return self


class Metric(_Config):
    """`c` of `n` trials passed; the chance that one (pass@k) or all (pass^k) of `k` do."""

    metric: Literal["pass@k", "pass^k"]
    n: int = Field(ge=1)
    c: int = Field(ge=0)
    k: int = Field(ge=1)
    threshold: float = Field(default=1.0, ge=0, le=1)

    @model_validator(mode="after")
    def _possible(self) -> Metric:
        if self.c > self.n:
            raise ValueError(f"c {self.c} is above n {self.n}: no more trials can pass than were made")
        if self.metric == "pass@k" and self.k > self.n:
            raise ValueError(f"k {self.k} is above n {self.n}: so many trials can't be drawn")
        return self


class Cases(_Config):
    """The cases that a suite was to run."""

    cases: list[Any]


def roll_up(config: Mapping[str, Any], given: Mapping[str, Any]) -> RolledUp:
    """The outcome of one of the objects above.

    Raises:
        ConfigError: the object is none of these or its fields are wrong.
        ValueError: an outcome in `given` can't be read.
    """
    if not isinstance(config, Mapping):
        raise ConfigError(f"a roll-up is an object, not {type(config).__name__}")
    if "metric" in config:
        return metric(_read(Metric, config))
    kinds = [kind for kind in _KINDS if kind in config]
    unknown = [key for key in config if key not in _KINDS]
    if len(kinds) != 1 or unknown:
        known = (*_KINDS, "metric")
        message = "a roll-up has exactly one of " + ", ".join(known)
        raise ConfigError(
            [Problem((str(unknown[0]),) if unknown else (), message, nearest(unknown[0], known) if unknown else None)]
        )
    model, function = _KINDS[kinds[0]]
    return function(_read(model, config[kinds[0]], kinds[0]), given)


def scoring(config: Scoring, given: Mapping[str, Any]) -> RolledUp:
    """A trajectory's verdict from its graders' outcomes."""
    if "grader_scores" in given:
        outcomes = [
            Outcome(Status.SCORED, float(score), config.weights.get(grader, 1.0))
            for grader, score in given["grader_scores"].items()
        ]
    else:
        grades = given["grades"] if "grades" in given else [given.get("grade")]
        outcomes = [Outcome(status_of(grade), _score(grade), config.weights.get(_type(grade), 1.0)) for grade in grades]
    verdict = trajectory_verdict(outcomes, config.threshold)
    return RolledUp(verdict.status, verdict.score)


def sampling(config: Sampling, given: Mapping[str, Any]) -> RolledUp:
    """One outcome of several attempts. Attempts that are missing are errors.

    Raises:
        ValueError: there are more attempts than samples.
    """
    attempts = list(given.get("attempts") or ())
    if len(attempts) > config.samples:
        raise ValueError(f"{len(attempts)} attempts of {config.samples} samples")
    statuses = [status_of(attempt) for attempt in attempts] + [Status.ERROR] * (config.samples - len(attempts))
    status = reduce_attempts(statuses, config.reducer, config.minimum_pass_rate)
    graded = [one for one in statuses if one in (Status.PASS, Status.FAIL)]
    scores = [score for attempt in attempts if (score := _score(attempt)) is not None]
    representative = next((i for i in reversed(range(len(attempts))) if statuses[i] is status), len(attempts) - 1)
    details = {
        "samples": config.samples,
        "passed": statuses.count(Status.PASS),
        "failed": statuses.count(Status.FAIL),
        "errors": config.samples - len(graded),
        "pass_rate": statuses.count(Status.PASS) / len(graded) if graded else None,
        "representative": representative if attempts else None,
    }
    return RolledUp(status, sum(scores) / len(scores) if scores else None, details)


def metric(config: Metric) -> RolledUp:
    """pass@k or pass^k against its threshold."""
    estimate = (pass_at_k if config.metric == "pass@k" else pass_hat_k)(config.n, config.c, config.k)
    if estimate is None:
        return RolledUp(Status.ERROR)
    return RolledUp(Status.PASS if reaches(estimate, config.threshold) else Status.FAIL, estimate)


def suite(config: Cases, given: Mapping[str, Any]) -> RolledUp:
    """A suite's outcome. An empty run is failed, never passed."""
    results = list(given.get("results") or ())
    statuses = [status_of(result) for result in results] + [Status.ERROR] * (len(config.cases) - len(results))
    statuses = [status for status in statuses if status is not Status.SKIPPED]
    passed = statuses.count(Status.PASS)
    graded = passed + statuses.count(Status.FAIL)
    status = reduce_attempts(statuses, "all") if statuses else Status.FAIL
    details = {"passed": passed, "failed": graded - passed, "errors": len(statuses) - graded}
    return RolledUp(status, passed / graded if graded else None, details)


def policy(config: QualityPolicy, given: Mapping[str, Any]) -> RolledUp:
    """A quality policy's outcome, rule by rule in `details`."""
    results = [apply_rule(rule, given.get("results") or (), given.get("summary") or {}) for rule in config.rules]
    return RolledUp(overall(results), None, {"rules": [asdict(result) for result in results]})


_KINDS: dict[str, tuple[type[BaseModel], Callable[[Any, Mapping[str, Any]], RolledUp]]] = {
    "scoring": (Scoring, scoring),
    "sampling": (Sampling, sampling),
    "suite": (Cases, suite),
    "policy": (QualityPolicy, policy),
}
ModelT = TypeVar("ModelT", bound=BaseModel)


def _read(model: type[ModelT], values: Any, *path: str) -> ModelT:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ConfigError(problems_of(error, model, path)) from None


def _score(outcome: Any) -> float | None:
    value = (
        outcome.score if isinstance(outcome, Score) else outcome.get("score") if isinstance(outcome, Mapping) else None
    )
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value)


def _type(outcome: Any) -> str:
    if isinstance(outcome, Score):
        return outcome.grader_type
    return str(outcome.get("type") or outcome.get("graderType") or "") if isinstance(outcome, Mapping) else ""
