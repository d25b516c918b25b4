"""`length`: the final output's size in characters or words, between inclusive bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from graders.evidence import FAIL_MARK, PASS_MARK
from graders.grade_batch import GradeBatch
from graders.grader import Grader
from graders.outcome_columns import Outcomes, coded
from graders.taxonomy import Taxonomy
from graders.text_config import OutputConfig
from graders.text_scope import NO_OUTPUT, missing_output
from graders.trajectory_batch import TrajectoryBatch
from graders.whitespace import word_counts


class LengthConfig(OutputConfig):
    """Inclusive bounds, at least one of them."""

    min: int | None = Field(default=None, ge=0)
    """The fewest characters or words."""
    max: int | None = Field(default=None, ge=0)
    """The most characters or words."""
    unit: Literal["characters", "words"] = "characters"
    """Characters are Unicode code points; words are what white space separates. Neither is a token count."""

    @model_validator(mode="after")
    def _possible(self) -> LengthConfig:
        if self.min is None and self.max is None:
            raise ValueError("give `min`, `max` or both: without a bound every output passes")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}: no output can pass")
        return self


class Length(Grader[LengthConfig]):
    """Passes when the output's length lies within the bounds. `details_json` holds the measured length."""

    type = "length"
    config_model = LengthConfig
    taxonomy = Taxonomy(temporal_scope="point-in-time")
    example: ClassVar[Mapping[str, Any]] = {"max": 60, "unit": "words"}

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Measure all outputs at once."""
        outcomes = Outcomes.of(len(batch))
        output = batch.column("output")
        lengths = self._lengths(output)
        outcomes.decide(slice(None), self._within(lengths))
        missing = output.is_null().to_numpy(zero_copy_only=False) if output.null_count else None
        if missing is not None:
            missing_output(outcomes, missing, self.config.on_missing_output)
        return outcomes.finished(self._columns(lengths, missing))

    def _lengths(self, output: pa.StringArray) -> Any:
        if self.config.unit == "words":
            return word_counts(output)
        return pc.fill_null(pc.utf8_length(output), 0).to_numpy(zero_copy_only=False).astype(np.int64)

    def _columns(self, lengths: Any, missing: Any) -> dict[str, pa.Array]:
        """What is said of outputs of one length is the same, and made once."""
        found, places = np.unique(lengths, return_inverse=True)
        marks = pc.if_else(pa.array(self._within(found)), PASS_MARK, FAIL_MARK)
        numbers = pc.cast(pa.array(found), pa.string())
        said = pc.binary_join_element_wise(marks, numbers, f"{self.config.unit}{self._bounds()}", " ")
        details = pc.binary_join_element_wise(f'{{"{self.config.unit}":', numbers, "}", "")
        measured = places if missing is None else np.where(missing, -1, places)
        explained = measured
        if missing is not None and self.config.on_missing_output == "fail":
            explained = np.where(missing, len(said), places)
            said = pa.concat_arrays([said, pa.array([f"{FAIL_MARK} {NO_OUTPUT}"])])
        return {
            "explanation": coded(explained, said.to_pylist()),
            "details_json": coded(measured, details.to_pylist()),
        }

    def _within(self, lengths: Any) -> Any:
        low = self.config.min if self.config.min is not None else 0
        high = self.config.max if self.config.max is not None else np.iinfo(np.int64).max
        return (lengths >= low) & (lengths <= high)

    def _bounds(self) -> str:
        low, high = self.config.min, self.config.max
        if low is None:
            return f", at most {high} wanted"
        if high is None:
            return f", at least {low} wanted"
        return f", {low} to {high} wanted"
