"""What is no known format: a reject that names the record's keys and the mapping that would read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from schemas.reject import RejectReason

_KINDS = {type(None): "null", str: "a string", bool: "a boolean", int: "a number", float: "a number", list: "a list"}


class Unknown(Container):
    """Stands in where detection finds no format; takes no record."""

    name = "unknown"
    order = 10_000

    def detect(self, value: Any) -> str | None:
        """Never."""
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """A reject a record."""
        result = Normalised()
        for record in records:
            if type(record.value) is dict:
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, unknown_detail(record.value)))
            else:
                detail = f"the record is {_KINDS.get(type(record.value), 'no object')}, not an object"
                result.rejects.append(reject(record, RejectReason.NOT_AN_OBJECT, detail))
        return result


def unknown_detail(value: dict[str, Any]) -> str:
    """Names the first ten keys of a record and shows the mapping that would read it."""
    keys = list(value)[:10]
    if not keys:
        return "no known format: the record is an empty object"
    shown = ", ".join(f"`{key}`" for key in keys) + (", …" if len(value) > 10 else "")
    texts = [key for key, item in value.items() if type(item) is str]
    likely = max(texts, key=lambda key: len(value[key])) if texts else keys[-1]
    plain = str(likely).replace("_", "").isalnum()
    path = f"$.{likely}" if plain else f"$['{likely}']"
    return (
        f"no known format; its first keys are {shown}. If it is a row of your own, map it in the suite, e.g. "
        f"input: {{fields: {{output: {path}}}}} (also id, input, reference, messages, metadata.<name>)"
    )
