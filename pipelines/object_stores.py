"""Objects of S3 and Google Cloud Storage, with one client a process.

Beam's own filesystems make a client for every file that they open (measured for S3: 70 to 90 ms of CPU each, and a block opens
six files), write every object as a multipart upload, and know no conditional put. Addresses and credentials are taken from Beam's
options all the same, so that one set of options serves inputs, staging and commit.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from graders.errors import ConfigError, Problem

_SMALLEST_READ = 256 * 1024
_LARGEST_READ = 16 * 2**20
_CONFLICT_TRIES = 6
_PARALLEL_DELETES = 32


class ObjectStore(Protocol):
    """What the pipeline needs of a store. Buckets and keys are plain strings."""

    def listed(self, bucket: str, prefix: str) -> Iterator[tuple[str, int, str]]:
        """Key, size in bytes and version of every object below a prefix; none where there is no such bucket."""

    def size(self, bucket: str, key: str) -> int | None:
        """Bytes of an object, None where there is none."""

    def read(self, bucket: str, key: str, start: int, end: int) -> bytes:
        """Bytes `start` to `end` (exclusive) of an object; the range lies within it.

        Raises:
            FileNotFoundError: there is no such object.
        """

    def put(self, bucket: str, key: str, data: bytes, only_if_absent: bool = False) -> bool:
        """Write an object whole; False where it was to be written only if absent and was there."""

    def copy(self, bucket: str, key: str, target_bucket: str, target_key: str) -> None:
        """Copy an object within the store, without its bytes passing through here."""

    def delete(self, bucket: str, keys: Iterable[str]) -> None:
        """Delete objects; ones that are gone already are fine."""


class S3Store:
    """S3, or what speaks its protocol (`--s3_endpoint_url`)."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def listed(self, bucket: str, prefix: str) -> Iterator[tuple[str, int, str]]:
        """See `ObjectStore`. The version is the ETag."""
        try:
            for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
                for item in page.get("Contents", ()):
                    yield item["Key"], item["Size"], item["ETag"].strip('"')
        except self._client.exceptions.NoSuchBucket:
            return

    def size(self, bucket: str, key: str) -> int | None:
        """See `ObjectStore`."""
        try:
            return int(self._client.head_object(Bucket=bucket, Key=key)["ContentLength"])
        except self._client.exceptions.ClientError as error:
            if _status(error) == 404:
                return None
            raise

    def read(self, bucket: str, key: str, start: int, end: int) -> bytes:
        """See `ObjectStore`."""
        try:
            reply = self._client.get_object(Bucket=bucket, Key=key, Range=f"bytes={start}-{end - 1}")
        except self._client.exceptions.ClientError as error:
            if _status(error) == 404:
                raise FileNotFoundError(f"s3://{bucket}/{key}") from error
            raise
        data: bytes = reply["Body"].read()
        return data

    def put(self, bucket: str, key: str, data: bytes, only_if_absent: bool = False) -> bool:
        """See `ObjectStore`. The condition is `If-None-Match: *`; 409 says that another such put is under way: try again."""
        condition = {"IfNoneMatch": "*"} if only_if_absent else {}
        for attempt in range(_CONFLICT_TRIES):
            try:
                self._client.put_object(Bucket=bucket, Key=key, Body=data, **condition)
                return True
            except self._client.exceptions.ClientError as error:
                if not only_if_absent or _status(error) not in (409, 412):
                    raise
                if _status(error) == 412:
                    return False
                time.sleep(0.1 * 2**attempt)
        return False

    def copy(self, bucket: str, key: str, target_bucket: str, target_key: str) -> None:
        """See `ObjectStore`."""
        self._client.copy_object(Bucket=target_bucket, Key=target_key, CopySource={"Bucket": bucket, "Key": key})

    def delete(self, bucket: str, keys: Iterable[str]) -> None:
        """See `ObjectStore`."""
        for batch in _batches(keys, 1000):
            objects = [{"Key": key} for key in batch]
            self._client.delete_objects(Bucket=bucket, Delete={"Objects": objects, "Quiet": True})


class GoogleStore:
    """Google Cloud Storage."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def listed(self, bucket: str, prefix: str) -> Iterator[tuple[str, int, str]]:
        """See `ObjectStore`. The version is the generation."""
        from google.api_core.exceptions import NotFound

        try:
            for blob in self._client.list_blobs(bucket, prefix=prefix):
                yield blob.name, int(blob.size or 0), str(blob.generation)
        except NotFound:
            return

    def size(self, bucket: str, key: str) -> int | None:
        """See `ObjectStore`."""
        blob = self._client.bucket(bucket).get_blob(key)
        return None if blob is None else int(blob.size or 0)

    def read(self, bucket: str, key: str, start: int, end: int) -> bytes:
        """See `ObjectStore`. Objects stored with a content encoding are read as they are stored."""
        from google.api_core.exceptions import NotFound

        blob = self._client.bucket(bucket).blob(key)
        try:
            data: bytes = blob.download_as_bytes(start=start, end=end - 1, raw_download=True, checksum=None)
        except NotFound as error:
            raise FileNotFoundError(f"gs://{bucket}/{key}") from error
        return data

    def put(self, bucket: str, key: str, data: bytes, only_if_absent: bool = False) -> bool:
        """See `ObjectStore`. The condition is `ifGenerationMatch=0`."""
        from google.api_core.exceptions import PreconditionFailed

        condition = {"if_generation_match": 0} if only_if_absent else {}
        try:
            self._client.bucket(bucket).blob(key).upload_from_string(data, "application/octet-stream", **condition)
        except PreconditionFailed:
            if not only_if_absent:
                raise
            return False
        return True

    def copy(self, bucket: str, key: str, target_bucket: str, target_key: str) -> None:
        """See `ObjectStore`."""
        source = self._client.bucket(bucket)
        source.copy_blob(source.blob(key), self._client.bucket(target_bucket), target_key)

    def delete(self, bucket: str, keys: Iterable[str]) -> None:
        """See `ObjectStore`."""
        from google.api_core.exceptions import NotFound

        holder = self._client.bucket(bucket)

        def delete_one(key: str) -> None:
            with contextlib.suppress(NotFound):
                holder.delete_blob(key)

        with ThreadPoolExecutor(_PARALLEL_DELETES) as pool:
            for _ in pool.map(delete_one, keys):
                pass


class ObjectReader(io.RawIOBase):
    """An object as a seekable file. Reads ahead, the further the longer it is read in one go."""

    def __init__(self, store: ObjectStore, bucket: str, key: str, scheme: str) -> None:
        super().__init__()
        size = store.size(bucket, key)
        if size is None:
            raise FileNotFoundError(f"{scheme}://{bucket}/{key}")
        self._store, self._bucket, self._key, self._size = store, bucket, key, size
        self._position = 0
        self._held_from = 0
        self._held = b""
        self._ahead = _SMALLEST_READ

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """The position in bytes."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move; nothing is read yet."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer from the position on; 0 at the end."""
        view = memoryview(buffer).cast("B")
        held_end = self._held_from + len(self._held)
        if self._position >= self._size or not len(view):
            return 0
        if not self._held_from <= self._position < held_end:
            self._ahead = min(2 * self._ahead, _LARGEST_READ) if self._position == held_end else _SMALLEST_READ
            end = min(self._size, self._position + max(len(view), self._ahead))
            self._held = self._store.read(self._bucket, self._key, self._position, end)
            self._held_from = self._position
        start = self._position - self._held_from
        piece = memoryview(self._held)[start : start + len(view)]
        view[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)


_stores: dict[str, tuple[Any, ObjectStore]] = {}
_lock = threading.Lock()


def _forget_stores() -> None:
    """In a fork of this process: connections are the parent's."""
    global _lock
    _lock = threading.Lock()
    _stores.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_stores)


def store_of(uri: str) -> tuple[ObjectStore, str, str]:
    """The store of a URI, its bucket and its key.

    Raises:
        ConfigError: the URI names no store that is known, or one whose libraries are not installed.
    """
    scheme, _, rest = uri.partition("://")
    bucket, _, key = rest.partition("/")
    problem = store_problem(scheme)
    if problem is not None:
        raise ConfigError([problem])
    options = beam_options()
    with _lock:
        known = _stores.get(scheme)
        if known is None or known[0] is not options:
            known = _stores[scheme] = (options, _MAKERS[scheme](options))
    return known[1], bucket, key


def store_problem(scheme: str) -> Problem | None:
    """Why URIs of a scheme can't be read or written here, None where they can."""
    if scheme not in _MAKERS:
        return Problem((), f'"{scheme}://" is no store that this version knows', "gs://, s3:// or local paths")
    module, extra = _LIBRARIES[scheme]
    if is_installed(module):
        return None
    return Problem((), f"{scheme}:// needs further libraries", f"pip install 'gradebeam[{extra}]'")


def is_installed(module: str) -> bool:
    """Whether a module can be imported, without doing so."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def beam_options() -> Any:
    """Beam's options in this process: the launcher's, or those that the runner gave to the worker."""
    from apache_beam.io.filesystems import FileSystems
    from apache_beam.options.pipeline_options import PipelineOptions

    if FileSystems._pipeline_options is None:
        FileSystems.set_options(PipelineOptions([]))
    return FileSystems._pipeline_options


def _s3(options: Any) -> ObjectStore:
    from apache_beam.io.aws.clients.s3.boto3_client import Client

    return S3Store(Client(options).client)


def _google(options: Any) -> ObjectStore:
    from apache_beam.io.gcp.gcsio import create_storage_client

    return GoogleStore(create_storage_client(options))


_LIBRARIES = {"s3": ("boto3", "aws"), "gs": ("google.cloud.storage", "gcp")}
_MAKERS = {"s3": _s3, "gs": _google}


def _status(error: Any) -> int | None:
    status: int | None = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    return status


def _batches(items: Iterable[str], size: int) -> Iterator[list[str]]:
    batch: list[str] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
