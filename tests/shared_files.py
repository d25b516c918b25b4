"""Files that the project shares beside the repository: format samples, conformance cases.

Absent ones simply give no test cases.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

_VARIABLE = "GRADEBEAM_SHARED"


def shared_folder() -> Path | None:
    """The shared folder: where the environment says, else `shared` beside the repository; None where there is none."""
    named = os.environ.get(_VARIABLE)
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared"
    return folder if folder.is_dir() else None


def shared_file(*parts: str) -> Path | None:
    """A file or folder below the shared folder, None where it is absent."""
    folder = shared_folder()
    path = None if folder is None else folder.joinpath(*parts)
    return path if path is not None and path.exists() else None


def conformance_cases() -> list[dict[str, Any]]:
    """The cases of `conformance/cases.jsonl` with their macros expanded; none where the file is absent."""
    path = shared_file("conformance", "cases.jsonl")
    if path is None:
        return []
    return [expanded(json.loads(line)) for line in path.read_text("utf-8").split("\n") if line.strip()]


def expanded(value: Any) -> Any:
    """A case with `{"$repeat": [text, n]}` and `{"$concat": [...]}` replaced by their texts."""
    if isinstance(value, list):
        return [expanded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"$repeat"}:
        text, times = value["$repeat"]
        return expanded(text) * times
    if set(value) == {"$concat"}:
        return "".join(expanded(part) for part in value["$concat"])
    return {key: expanded(item) for key, item in value.items()}
