"""Beam, started sooner: without the clients of services that a local run never asks, and without asking the same thing of a step twice.

Both are about the first seconds of `gradebeam run`, most of which are Beam's own start.
"""

from __future__ import annotations

import bz2
import importlib
import logging
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Beam's sources do without these where they can't be imported. Local runs read stores through `pipelines.object_stores`.
UNUSED = (
    "pymongo",
    "bson",
    "apache_beam.io.gcp.bigquery",
    "apache_beam.io.gcp.gcsfilesystem",
    "apache_beam.io.aws.s3filesystem",
    "apache_beam.io.azure.blobstoragefilesystem",
)
#: Libraries that Beam imports for what a local run does not do (store clients' HTTP, encrypted keys, Avro files, odd type hints),
#: with the names that it takes from them: each is loaded when it is first called.
SELDOM_USED = {
    "httplib2": (),
    "cryptography.fernet": ("Fernet",),
    "fastavro": ("parse_schema", "schemaless_reader", "schemaless_writer"),
    "fastavro.read": ("block_reader",),
    "fastavro.write": ("Writer",),
    "beartype.door": ("is_subhint",),
    "beartype.roar": ("BeartypeDoorException",),
}
#: Beam warns on import of clients that are not installed, its local workers of a pickled main session that there is not, and
#: its local runner that workers within one process might not run at once (they do, as threads).
_LAMENTS = (
    "apitools not found",
    "Could not find a compatible bson",
    "No semi_persistent_directory found",
    "If direct_num_workers is not equal to 1",
)
_LAMENTING = (
    None,
    "apache_beam.io.mongodbio",
    "apache_beam.runners.portability.local_job_service",
    "apache_beam.runners.portability.fn_api_runner.fn_runner",
)


def load_beam(local: bool) -> None:
    """Import Beam; for a local run without `UNUSED`."""
    for name in _LAMENTING:
        logging.getLogger(name).addFilter(_is_no_lament)
    with hidden(UNUSED if local else ()):
        importlib.import_module("apache_beam")
    _remember_specs()


def _remember_specs() -> None:
    """Have Beam read the signatures of a DoFn's methods once. It does six times while it builds a graph, which is half of the time that takes."""
    userstate: Any = importlib.import_module("apache_beam.transforms.userstate")
    read_specs = userstate.get_dofn_specs
    if hasattr(read_specs, "known"):
        return
    known: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def remembered_specs(dofn: Any) -> Any:
        """The state and timer specs of a DoFn, by identity."""
        specs = known.get(dofn)
        if specs is None:
            specs = known[dofn] = read_specs(dofn)
        return specs

    remembered_specs.known = known  # type: ignore[attr-defined]
    userstate.get_dofn_specs = remembered_specs


@contextmanager
def pickled_plainly() -> Iterator[None]:
    """Inside, Beam pickles steps without compressing them. Only for a run within this process: other workers could not read such steps.

    A worker unpickles, pickles and unpickles each step of a stage that it is set up for, and bzip2 takes several times as long as pickling.
    """
    pickler: Any = importlib.import_module("apache_beam.internal.cloudpickle_pickler")
    pickler.bz2 = _Uncompressed
    try:
        yield
    finally:
        pickler.bz2 = bz2


class _Uncompressed:
    """What Beam's pickler uses of the module `bz2`."""

    @staticmethod
    def compress(data: bytes, compresslevel: int = 9) -> bytes:
        """The data as they are."""
        return data

    @staticmethod
    def decompress(data: bytes) -> bytes:
        """The data; ones that were compressed before are decompressed."""
        return bz2.decompress(data) if data.startswith(b"BZh") else data


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
