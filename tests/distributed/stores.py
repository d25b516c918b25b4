"""Object stores on loopback: an S3-compatible server in this process, a Google-compatible one in its own."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator

import boto3
from moto.server import ThreadedMotoServer

from tests.distributed.engines import engine

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@contextlib.contextmanager
def s3_server(bucket: str) -> Iterator[str]:
    """The address of an S3-compatible server with one bucket."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        address = f"http://{host}:{port}"
        s3_client(address).create_bucket(Bucket=bucket)
        yield address
    finally:
        server.stop()


def s3_client(address: str) -> object:
    """A client of the server, beside the one under test."""
    return boto3.client(
        "s3",
        endpoint_url=address,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        region_name="us-east-1",
    )


@contextlib.contextmanager
def google_server(bucket: str) -> Iterator[str]:
    """The address of a Google-compatible server with one bucket."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    path = engine("fake-gcs-server").path
    assert path is not None
    options = [
        "-scheme",
        "http",
        "-host",
        "127.0.0.1",
        "-port",
        str(port),
        "-backend",
        "memory",
        "-external-url",
        address,
    ]
    server = subprocess.Popen([path, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        request = urllib.request.Request(
            f"{address}/storage/v1/b?project=test",
            data=b'{"name": "%s"}' % bucket.encode(),
            headers={"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=30).close()
        yield address
    finally:
        server.kill()
        server.wait()
