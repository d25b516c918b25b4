"""`exact`: the final output equal to a text or to the trajectory's reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graders.evidence import marked, shown_text
from graders.grade_batch import GradeBatch
from graders.grader import Grader
from graders.lowercase import lowered
from graders.negation import Negatable
from graders.outcome_columns import Fault, Outcomes, coded
from graders.taxonomy import Taxonomy
from graders.text_config import OnMissing, OutputConfig
from graders.text_positions import to_mask
from graders.text_scope import NO_OUTPUT, missing_output
from graders.trajectory_batch import TrajectoryBatch
from graders.whitespace import trimmed
from schemas.score import ErrorType

NO_REFERENCE = "the trajectory has no reference"


class ExactConfig(Negatable, OutputConfig):
    """What the output is compared with, and how."""

    value: str | None = None
    """The wanted text; where it is not given, each trajectory's own reference."""
    trim: bool = False
    """Leave white space at both ends of both texts out of the comparison."""
    case_sensitive: bool = True
    """Whether A differs from a; if not, both sides are lower-cased."""
    on_missing_reference: OnMissing = "skip"
    """The outcome where no `value` is given and the trajectory has no reference (an empty text is a reference)."""


class Exact(Grader[ExactConfig]):
    """Passes when the output is the wanted text. Nothing is normalised unless an option says so."""

    type = "exact"
    config_model = ExactConfig
    taxonomy = Taxonomy(reference="reference-based", temporal_scope="point-in-time")
    example: ClassVar[Mapping[str, Any]] = {"trim": True}

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Compare all outputs at once."""
        outcomes = Outcomes.of(len(batch))
        output = batch.column("output")
        if self.config.value is None:
            reference = batch.column("reference")
            equal = to_mask(pc.equal(self._compared(output), self._compared(reference)))
        else:
            wanted = self._compared(pa.array([self.config.value]))[0]
            equal = to_mask(pc.equal(self._compared(output), wanted))
        outcomes.decide(slice(None), equal != self.config.negate)
        said = outcomes.status.astype(np.int16)
        sentences = self._sentences()
        if self.config.value is None and reference.null_count:
            without = to_mask(reference.is_null())
            self._missing_reference(outcomes, without)
            said[without] = len(sentences)
            sentences.append(marked(False, NO_REFERENCE))
        if output.null_count:
            without = to_mask(output.is_null()) & ~outcomes.undecidable
            missing_output(outcomes, without, self.config.on_missing_output)
            said[without] = len(sentences)
            sentences.append(marked(False, NO_OUTPUT))
        said[outcomes.undecidable] = -1
        return outcomes.finished({"explanation": coded(said, sentences)})

    def _compared(self, texts: pa.StringArray) -> pa.StringArray:
        if self.config.trim:
            texts = trimmed(texts)
        return texts if self.config.case_sensitive else lowered(texts)

    def _missing_reference(self, outcomes: Outcomes, rows: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        if self.config.on_missing_reference == "error":
            outcomes.fail(rows, Fault(ErrorType.MISSING_REFERENCE, NO_REFERENCE))
        elif self.config.on_missing_reference == "skip":
            outcomes.skip(rows, NO_REFERENCE)
        else:
            outcomes.decide(rows, False)

    def _sentences(self) -> list[str]:
        wanted = "the reference" if self.config.value is None else shown_text(self.config.value)
        equal, unequal = f"output equals {wanted}", f"output does not equal {wanted}"
        return [
            marked(True, unequal if self.config.negate else equal),
            marked(False, equal if self.config.negate else unequal),
        ]
