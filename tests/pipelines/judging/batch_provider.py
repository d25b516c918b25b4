"""A provider's batch API over the fault server: files, batches, and a clock that the test turns."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.graders.judges.fault_server import GOOD, Response, Seen, completion


class BatchProvider:
    """Answers `/files`, `/batches` and single calls. `finish` decides what becomes of the batches that were submitted."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.submitted: Counter[str] = Counter()
        """By chunk."""
        self.single_calls = 0
        self.lose_next_creation = False

    def __call__(self, seen: Seen) -> Response:
        """The response to one request."""
        path = seen.path.split("?")[0]
        if path == "/v1/chat/completions":
            self.single_calls += 1
            return Response(body=completion(GOOD))
        if path == "/v1/files":
            return self._upload(seen)
        if path == "/v1/batches":
            return self._create(seen.body) if seen.method == "POST" else self._list(seen.path)
        if found := re.fullmatch(r"/v1/batches/(.+)", path):
            return Response(body=self.batches[found[1]])
        found = re.fullmatch(r"/v1/files/(.+)/content", path)
        assert found
        return Response(raw=self.files[found[1]])

    def finish(self, status: str = "completed", keep: Callable[[int], bool] = lambda number: True) -> None:
        """End every open batch; lines for which `keep(number)` is false fail."""
        for batch in self.batches.values():
            if batch["status"] != "in_progress":
                continue
            lines = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
            good = [_line(line, 200) for number, line in enumerate(lines) if keep(number)]
            bad = [_line(line, 500) for number, line in enumerate(lines) if not keep(number)]
            self.files[f"out-{batch['id']}"] = b"\n".join(good)
            self.files[f"err-{batch['id']}"] = b"\n".join(bad)
            batch.update(status=status, output_file_id=f"out-{batch['id']}", error_file_id=f"err-{batch['id']}")

    def _upload(self, seen: Seen) -> Response:
        assert b'name="purpose"' in seen.raw
        name = f"file-{len(self.files)}"
        part = seen.raw.split(b"application/jsonl\r\n\r\n")[1]
        self.files[name] = part[: part.index(b"\r\n--")]
        return Response(body={"id": name})

    def _create(self, body: dict[str, Any]) -> Response:
        name = f"batch-{len(self.batches)}"
        self.batches[name] = {"id": name, "status": "in_progress", **body}
        self.submitted[body["metadata"]["gradebeam_chunk"]] += 1
        if self.lose_next_creation:
            self.lose_next_creation = False
            return Response(0)
        return Response(body=self.batches[name])

    def _list(self, path: str) -> Response:
        after = re.search(r"after=([^&]+)", path)
        names = list(self.batches)
        start = names.index(after[1]) + 1 if after else 0
        page = [self.batches[name] for name in names[start : start + 2]]
        return Response(body={"data": page, "has_more": start + 2 < len(names)})


def _line(line: dict[str, Any], status: int) -> bytes:
    body = completion(GOOD) if status == 200 else {"error": {"message": "no"}}
    response = {"status_code": status, "request_id": "r", "body": body}
    return json.dumps({"id": "x", "custom_id": line["custom_id"], "response": response, "error": None}).encode()
