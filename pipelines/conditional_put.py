"""Creating an object only if it is absent, with each store's own condition."""

from __future__ import annotations


def conditional_put(uri: str, data: bytes) -> bool:
    """Write an object unless one of that name is there; see `pipelines.storage.create_if_absent`."""
    if uri.startswith("s3://"):
        return _s3_put(uri, data)
    if uri.startswith("gs://"):
        return _gcs_put(uri, data)
    return _look_then_write(uri, data)


def _s3_put(uri: str, data: bytes) -> bool:
    import boto3
    from botocore.exceptions import ClientError

    bucket, _, key = uri.removeprefix("s3://").partition("/")
    try:
        boto3.client("s3").put_object(Bucket=bucket, Key=key, Body=data, IfNoneMatch="*")
    except ClientError as error:
        if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") in (409, 412):
            return False
        raise
    return True


def _gcs_put(uri: str, data: bytes) -> bool:
    from google.api_core.exceptions import PreconditionFailed
    from google.cloud import storage

    bucket, _, key = uri.removeprefix("gs://").partition("/")
    try:
        storage.Client().bucket(bucket).blob(key).upload_from_string(data, if_generation_match=0)
    except PreconditionFailed:
        return False
    return True


def _look_then_write(uri: str, data: bytes) -> bool:
    from apache_beam.io.filesystems import FileSystems

    if FileSystems.exists(uri):
        return False
    with FileSystems.create(uri) as file:
        file.write(data)
    return True
