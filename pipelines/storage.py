"""Files by URI: local ones, s3:// and gs://. Every write appears whole or not at all."""

from __future__ import annotations

import contextlib
import glob as local_glob
import io
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import BinaryIO, cast

from pipelines.object_stores import ObjectReader, store_of

_READ_BUFFER = 256 * 1024
_PARALLEL_READS = 32


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that a listing found."""

    uri: str
    size: int
    version: str
    """Changes when the content does: modification time in ns locally, S3's ETag, Google's generation."""


def is_remote(uri: str) -> bool:
    """Whether a URI names something beyond the local disk."""
    return "://" in uri and not uri.startswith("file://")


def local_path(uri: str) -> str:
    """The path of a local URI."""
    return uri.removeprefix("file://")


def join(root: str, *parts: str) -> str:
    """A path below a root, with forward slashes for remote ones."""
    if is_remote(root):
        return "/".join([root.rstrip("/"), *parts])
    return os.path.join(local_path(root), *parts)


def match(pattern: str) -> list[StoredFile]:
    """Files that a glob (or plain path) names, sorted by URI. A folder (remote: with a final slash) stands for all below it."""
    if is_remote(pattern):
        return _remote_match(pattern + "**" if pattern.endswith("/") else pattern)
    path = local_path(pattern)
    if os.path.isdir(path):
        path = os.path.join(local_glob.escape(path), "**", "*")
    elif os.path.exists(path):
        path = local_glob.escape(path)
    found_paths = (name for name in local_glob.glob(path, recursive=True) if os.path.isfile(name))
    return [_local_file(name) for name in sorted({os.path.abspath(name) for name in found_paths})]


def list_folder(folder: str) -> list[StoredFile]:
    """Files in a folder (not below it); empty where there is no such folder."""
    if is_remote(folder):
        return match(folder.rstrip("/") + "/*")
    found = []
    with contextlib.suppress(FileNotFoundError), os.scandir(local_path(folder)) as entries:
        for entry in entries:
            if entry.is_file():
                with contextlib.suppress(FileNotFoundError):
                    found.append(_local_file(entry.path))
    return sorted(found, key=lambda file: file.uri)


def exists(uri: str) -> bool:
    """Whether a file is there."""
    if is_remote(uri):
        store, bucket, key = store_of(uri)
        return store.size(bucket, key) is not None
    return os.path.isfile(local_path(uri))


def open_read(uri: str) -> BinaryIO:
    """A file's bytes as they are stored (nothing is decompressed), seekable."""
    if is_remote(uri):
        store, bucket, key = store_of(uri)
        return cast(BinaryIO, io.BufferedReader(ObjectReader(store, bucket, key, uri.split("://", 1)[0]), _READ_BUFFER))
    return open(local_path(uri), "rb")


def read_bytes(uri: str) -> bytes:
    """A whole file."""
    with open_read(uri) as file:
        return file.read()


def read_many(uris: Sequence[str]) -> Iterator[bytes]:
    """Whole small files, in the order of their URIs; those of a store many at a time, for each takes a round trip."""
    if not any(is_remote(uri) for uri in uris):
        yield from map(read_bytes, uris)
        return
    with ThreadPoolExecutor(_PARALLEL_READS) as pool:
        for start in range(0, len(uris), 8 * _PARALLEL_READS):
            yield from pool.map(read_bytes, uris[start : start + 8 * _PARALLEL_READS])


def write_bytes(uri: str, data: bytes | memoryview) -> None:
    """Write a file; it appears whole under its name, replacing one that is there."""
    if is_remote(uri):
        store, bucket, key = store_of(uri)
        store.put(bucket, key, bytes(data))
        return
    temporary = _temporary(local_path(uri))
    with open(temporary, "wb") as file:
        file.write(data)
    os.replace(temporary, local_path(uri))


def create_if_absent(uri: str, data: bytes) -> bool:
    """Write a file only if there is none of that name; False where there was. Of two writers at once, one gets True.

    Local disks: a hard link of the finished file. S3: `If-None-Match: *`. Google: `ifGenerationMatch=0`.
    """
    if is_remote(uri):
        store, bucket, key = store_of(uri)
        return store.put(bucket, key, data, only_if_absent=True)
    temporary = _temporary(local_path(uri))
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, local_path(uri))
        except FileExistsError:
            return False
        return True
    finally:
        os.unlink(temporary)


def copy(source: str, target: str) -> None:
    """Put a file's content under a second name (a hard link where the disk has them); both lie in the same store."""
    if is_remote(target):
        store, bucket, key = store_of(source)
        _, target_bucket, target_key = store_of(target)
        store.copy(bucket, key, target_bucket, target_key)
        return
    temporary = _temporary(local_path(target))
    try:
        os.link(local_path(source), temporary)
    except FileNotFoundError:
        raise
    except OSError:  # a disk without hard links
        shutil.copyfile(local_path(source), temporary)
    os.replace(temporary, local_path(target))
    with contextlib.suppress(FileNotFoundError):  # replacing a link by another of the same file leaves both names
        os.unlink(temporary)


def delete(uris: Iterable[str]) -> None:
    """Delete files; ones that are gone already are fine."""
    remote: dict[tuple[str, str], list[str]] = {}
    for uri in uris:
        if is_remote(uri):
            _, bucket, key = store_of(uri)
            remote.setdefault((uri.split("://", 1)[0], bucket), []).append(key)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(local_path(uri))
    for (scheme, bucket), keys in remote.items():
        store_of(f"{scheme}://{bucket}/")[0].delete(bucket, keys)


def delete_folder(folder: str) -> None:
    """Delete a folder with all that is in it; one that is gone already is fine."""
    if is_remote(folder):
        delete([file.uri for file in match(folder.rstrip("/") + "/")])
    else:
        shutil.rmtree(local_path(folder), ignore_errors=True)


def buffered(file: BinaryIO) -> BinaryIO:
    """A file object that `read(n)` of few bytes does not hurt."""
    return file if isinstance(file, io.BufferedIOBase) else cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, file)))


def _remote_match(pattern: str) -> list[StoredFile]:
    """`*`, `?` and `[…]` stop at a slash, `**` does not."""
    store, bucket, key_pattern = store_of(pattern)
    scheme = pattern.split("://", 1)[0]
    prefix = re.split(r"[*?\[]", key_pattern, maxsplit=1)[0]
    wanted = re.compile(_glob_pattern(key_pattern)).fullmatch
    found = (
        StoredFile(f"{scheme}://{bucket}/{key}", size, f"{size}-{version}")
        for key, size, version in store.listed(bucket, prefix)
        if wanted(key) and not key.endswith("/")
    )
    return sorted(found, key=lambda file: file.uri)


def _glob_pattern(pattern: str) -> str:
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\[[^]]+\])", pattern)
    return "(?s)" + "".join(
        parts.get(piece)
        or (piece.replace("[!", "[^", 1) if piece.startswith("[") and piece.endswith("]") else re.escape(piece))
        for piece in pieces
    )


def _local_file(path: str) -> StoredFile:
    status = os.stat(path)
    return StoredFile(os.path.abspath(path), status.st_size, f"{status.st_size}-{status.st_mtime_ns}")


def _temporary(path: str) -> str:
    folder, name = os.path.split(path)
    os.makedirs(folder or ".", exist_ok=True)
    return os.path.join(folder, f".{name}.{uuid.uuid4().hex}.tmp")
