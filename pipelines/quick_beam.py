"""Beam, loaded sooner: without the clients of services that a local run never asks, and without making the same view of options anew.

Both are about the first second of `gradebeam run`, most of which is Beam's own start.
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: Beam's sources do without these where they can't be imported. Local runs read stores through `pipelines.object_stores`.
UNUSED = (
    "pymongo",
    "bson",
    "apache_beam.io.gcp.bigquery",
    "apache_beam.io.gcp.gcsfilesystem",
    "apache_beam.io.aws.s3filesystem",
    "apache_beam.io.azure.blobstoragefilesystem",
)
#: Beam warns on import of clients that are not installed, and its local workers of a pickled main session that there is not.
_LAMENTS = ("apitools not found", "Could not find a compatible bson", "No semi_persistent_directory found")
_LAMENTING = (None, "apache_beam.io.mongodbio", "apache_beam.runners.portability.local_job_service")


def load_beam(local: bool) -> None:
    """Import Beam; for a local run without `UNUSED`."""
    for name in _LAMENTING:
        logging.getLogger(name).addFilter(_is_no_lament)
    with hidden(UNUSED if local else ()):
        importlib.import_module("apache_beam")


@contextmanager
def hidden(modules: tuple[str, ...]) -> Iterator[None]:
    """Imports of some modules fail inside, unless they are loaded already; afterwards they succeed as ever."""
    names = [name for name in modules if name not in sys.modules]
    sys.modules.update(dict.fromkeys(names))  # type: ignore[arg-type]  # None is how the import system is told to refuse
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]


def _is_no_lament(record: logging.LogRecord) -> bool:
    message = record.getMessage()
    return not any(lament in message for lament in _LAMENTS)
