"""Which code and which libraries graded a run."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import platform
from functools import lru_cache
from pathlib import Path

_PACKAGES = ("schemas", "graders", "pipelines")
_LIBRARIES = ("apache-beam", "pyarrow", "regex", "jsonschema", "pydantic", "orjson")


@lru_cache(maxsize=1)
def code_version() -> str:
    """The distribution's version and 8 hex digits over its source, so that edited code is another version."""
    digest = hashlib.sha256()
    for package in _PACKAGES:
        spec = importlib.util.find_spec(package)
        assert spec is not None
        for folder in spec.submodule_search_locations or ():
            for path in sorted(Path(folder).rglob("*.py")):
                digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{importlib.metadata.version('gradebeam')}+{digest.hexdigest()[:8]}"


@lru_cache(maxsize=1)
def library_versions() -> dict[str, str]:
    """Versions of Python and of the libraries that can change a verdict or a file."""
    versions = {"python": platform.python_version()}
    versions.update({name: importlib.metadata.version(name) for name in _LIBRARIES})
    return versions
