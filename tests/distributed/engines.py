"""Engines beside the local one: fetched once into a cache folder, and what a machine lacks for one, in words.

`python -m tests.distributed.engines` fetches them; the tests only look.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from apache_beam.version import __version__ as BEAM_VERSION

#: Flink's job server: which Flink, which Beam. The pin first; the older one speaks the same portability protocol.
_FLINK_CHOICES = (("1.20", BEAM_VERSION), ("1.20", "2.75.0"))
#: A registry that does not answer must not hold up everything else.
MOST_SECONDS = 600
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
_GO_TOOLS = {
    "prism": f"github.com/apache/beam/sdks/v2/go/cmd/prism@v{BEAM_VERSION}",
    "fake-gcs-server": "github.com/fsouza/fake-gcs-server@v1.56.1",
}


@dataclass(frozen=True, slots=True)
class Engine:
    """A fetched engine, or why there is none."""

    path: str | None
    version: str
    problem: str | None = None


def cache_folder() -> Path:
    """Where engines lie: outside the repository, shared by its clones."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gradebeam"


def engine(name: str) -> Engine:
    """What the last fetch found: `prism`, `flink` or `fake-gcs-server`. `spark` is looked for where it would be installed."""
    if name == "spark":
        return _spark()
    try:
        known = json.loads((cache_folder() / f"{name}.json").read_text())
    except FileNotFoundError:
        return Engine(None, "", "not fetched: run `make test-distributed`")
    found = Engine(**known)
    if found.path is not None and not Path(found.path).is_file():
        return Engine(None, found.version, "its file is gone: run `make test-distributed`")
    return found


def fetch() -> dict[str, Engine]:
    """Fetch what is not there yet."""
    found = {name: engine(name) for name in ("prism", "fake-gcs-server", "flink")}
    for name, source in _GO_TOOLS.items():
        if found[name].path is None:
            found[name] = _go_tool(name, source)
    if found["flink"].path is None:
        found["flink"] = _flink()
    cache_folder().mkdir(parents=True, exist_ok=True)
    for name, each in found.items():
        (cache_folder() / f"{name}.json").write_text(json.dumps(asdict(each)))
    return found


def _go_tool(name: str, source: str) -> Engine:
    version = source.rsplit("@", 1)[1]
    if shutil.which("go") is None:
        return Engine(None, version, "Go is not installed")
    folder = cache_folder() / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    built = _run(["go", "install", source], {"GOBIN": str(folder)})
    return Engine(None, version, built) if built else Engine(str(folder / name), version)


def _flink() -> Engine:
    if shutil.which("java") is None or shutil.which("mvn") is None:
        return Engine(None, "", "Java and Maven are not installed")
    folder = cache_folder()
    for flink, beam in _FLINK_CHOICES:
        artifact = f"beam-runners-flink-{flink}-job-server"
        target = ["-DoutputDirectory=" + str(folder), f"-Dartifact=org.apache.beam:{artifact}:{beam}"]
        if _run(["mvn", "-B", "-q", _COPY, *target], {}) is None:
            return Engine(str(folder / f"{artifact}-{beam}.jar"), f"Flink {flink}, Beam {beam}")
    tried = ", ".join(f"{flink} at Beam {beam}" for flink, beam in _FLINK_CHOICES)
    return Engine(None, "", f"the registry serves no beam-runners-flink-<Flink>-job-server (tried {tried})")


def _spark() -> Engine:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        return Engine(None, "", "pyspark is not installed: pip install 'gradebeam[distributed]'")
    if shutil.which("java") is None:
        return Engine(None, "", "Java is not installed")
    return Engine(spec.origin, importlib.metadata.version("pyspark"))


def _run(command: list[str], environment: dict[str, str]) -> str | None:
    """None where a command succeeds, else the end of what it said."""
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{command[0]} did not end within {MOST_SECONDS} seconds"
    return None if done.returncode == 0 else " ".join((done.stderr or done.stdout).split())[-400:]


def main() -> int:
    """Fetch, and say what was had."""
    for name, each in fetch().items():
        print(
            f"{name}: {each.path} ({each.version})"
            if each.path
            else f"{name}: NOT TO BE HAD: {' '.join((each.problem or '').split())}",
            file=sys.stderr,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
