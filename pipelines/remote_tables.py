"""Committed files of object stores as Arrow datasets, for `gradebeam sql`: DuckDB's own reader of stores is a download."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from pipelines import storage
from pipelines.object_stores import beam_options


def open_dataset(uris: Sequence[str], schema: pa.Schema) -> ds.Dataset:
    """The files of one table as one dataset, columns and filters pushed down. All lie in one store.

    `schema` is what the files hold (`schemas.tables`); DuckDB reads the result by its variable's name.

    Raises:
        ValueError: the URIs are of several stores.
    """
    schemes = {uri.split("://", 1)[0] if storage.is_remote(uri) else "file" for uri in uris}
    if not uris:
        return ds.dataset(schema.empty_table())
    if len(schemes) != 1:
        raise ValueError(f"the files lie in several stores: {', '.join(sorted(schemes))}")
    scheme = schemes.pop()
    if scheme == "file":
        paths = [storage.local_path(uri) for uri in uris]
        return ds.dataset(paths, schema=schema, format="parquet")
    paths = [uri.split("://", 1)[1] for uri in uris]
    return ds.dataset(paths, schema=schema, format="parquet", filesystem=_file_system(scheme))


def _file_system(scheme: str) -> Any:
    if scheme == "s3":
        return _s3()
    if scheme == "gs":
        return _google()
    raise ValueError(f'"{scheme}://" is no store that is known')


def _s3() -> Any:
    """Arrow's S3 with Beam's options where they are given, else with the environment's and its usual credentials."""
    from apache_beam.options.pipeline_options import S3Options

    options = beam_options().view_as(S3Options)
    given = {
        "access_key": options.s3_access_key_id,
        "secret_key": options.s3_secret_access_key,
        "session_token": options.s3_session_token,
        "region": options.s3_region_name or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"),
        **_endpoint(
            options.s3_endpoint_url or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        ),
    }
    return fs.S3FileSystem(**{name: value for name, value in given.items() if value})


def _google() -> Any:
    """Arrow's Google Cloud Storage with the environment's credentials; without any where an emulator is named."""
    emulator = os.environ.get("STORAGE_EMULATOR_HOST")
    if emulator is None:
        return fs.GcsFileSystem()
    return fs.GcsFileSystem(anonymous=True, **_endpoint(emulator))


def _endpoint(url: str | None) -> dict[str, str]:
    if url is None:
        return {}
    scheme, _, address = url.rpartition("://")
    return {"scheme": scheme or "http", "endpoint_override": address.rstrip("/")}
