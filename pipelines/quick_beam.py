"""Beam, started sooner: without the clients of services that a local run never asks, and without asking the same thing of a step twice.

Both are about the first seconds of `gradebeam run`, most of which are Beam's own start.
"""

from __future__ import annotations

import bz2
import importlib
import logging
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType, MethodType, ModuleType
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
#: What Beam imports for things that a local run does not do: HTTP clients, encrypted keys, Avro files, hints that nothing but a library for
#: type hints can tell apart. Together they take a third of the time that Beam's import takes. `_Later` stands for them, so nobody else
#: who is imported on the way may need more of them than functions: `httplib2` itself is a base of others' classes.
SELDOM_USED = (
    "apache_beam.internal.http_client",
    "cryptography.fernet",
    "fastavro",
    "fastavro.read",
    "fastavro.write",
    "beartype.door",
    "beartype.roar",
)
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
#: How Google's clients begin to say that they will not be kept up for a Python; the lock file's are.
OLD_PYTHON = "You are using a non-supported Python version"


def load_beam(local: bool) -> None:
    """Import Beam; for a local run without `UNUSED`, and with `SELDOM_USED` put off until they are."""
    for name in _LAMENTING:
        logging.getLogger(name).addFilter(_is_no_lament)
    warnings.filterwarnings("ignore", OLD_PYTHON, FutureWarning)
    with replaced(dict.fromkeys(UNUSED) | {name: _Later(name) for name in SELDOM_USED} if local else {}):
        importlib.import_module("apache_beam")
    _remember_signatures()


def _remember_signatures() -> None:
    """Have Beam read each signature once. While it builds a graph it asks every DoFn six times what its methods take, and they inherit most."""
    _remember("apache_beam.transforms.userstate", "get_dofn_specs", lambda dofn: dofn)
    _remember("apache_beam.transforms.core", "get_function_args_defaults", _function_of)


def _remember(module: str, name: str, key_of: Callable[[Any], Any]) -> None:
    """Replace a function of one argument by one that works once for each key, as long as that lives; where there is no key, always.

    Its results are pairs that nobody changes.
    """
    owner: Any = importlib.import_module(module)
    work = getattr(owner, name)
    if hasattr(work, "known"):
        return
    known: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def remembered(argument: Any) -> Any:
        key = key_of(argument)
        if key is None:
            return work(argument)
        result = known.get(key)
        if result is None:
            result = known[key] = work(argument)
        return result

    remembered.known = known  # type: ignore[attr-defined]
    setattr(owner, name, remembered)


def _function_of(method: Any) -> FunctionType | None:
    """What a bound method shares with those of other objects."""
    function = method.__func__ if isinstance(method, MethodType) else None
    return function if isinstance(function, FunctionType) else None


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
def replaced(modules: Mapping[str, ModuleType | None]) -> Iterator[None]:
    """Inside, imports of some modules give others, or fail where that is None, unless they are loaded already; afterwards all is as ever."""
    stand_ins = {name: module for name, module in modules.items() if name not in sys.modules}
    sys.modules.update(stand_ins)  # type: ignore[arg-type]  # None is how the import system is told to refuse
    try:
        yield
    finally:
        for name in stand_ins:
            sys.modules.pop(name, None)


class _Later(ModuleType):
    """Stands for a module: its functions and classes can be imported from it, and load the module when they are called.

    An exception stands for none: whoever waits for one that the module raises does not catch it.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.endswith("Exception"):
            return type(name, (Exception,), {})

        def call(*arguments: Any, **options: Any) -> Any:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            return getattr(importlib.import_module(self.__name__), name)(*arguments, **options)

        return call


def _is_no_lament(record: logging.LogRecord) -> bool:
    message = record.getMessage()
    return not any(lament in message for lament in _LAMENTS)
