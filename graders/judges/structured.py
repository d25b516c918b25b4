"""How an endpoint is made to keep to the schema: by JSON Schema, JSON mode, or the prompt alone; learned once."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from graders.judges.request import JudgeRequest

Mode = Literal["json_schema", "json_object", "prompt"]
LADDER: tuple[Mode, ...] = ("json_schema", "json_object", "prompt")


def response_format(mode: Mode, request: JudgeRequest) -> dict[str, Any] | None:
    """The request body's `response_format`; None where it is not sent."""
    if mode == "json_schema":
        schema = {"name": request.schema_name, "schema": dict(request.json_schema), "strict": True}
        return {"type": "json_schema", "json_schema": schema}
    return {"type": "json_object"} if mode == "json_object" else None


class FormatLadder:
    """The mode of one route. Until one is proven, the first call tries alone, so that the endpoint is asked once."""

    def __init__(self, wanted: Literal["auto"] | Mode) -> None:
        self.mode: Mode = LADDER[0] if wanted == "auto" else wanted
        self.proven = wanted != "auto"
        self._gated = True
        self._trying = asyncio.Lock()

    async def claim(self) -> bool:
        """Wait until the mode is proven or it is this call's turn to try; True in the second case (then `release`)."""
        if self.proven or not self._gated:
            return False
        await self._trying.acquire()
        if self.proven or not self._gated:
            self._trying.release()
            return False
        return True

    def release(self) -> None:
        """End this call's try. One that proved nothing (the endpoint hangs, say) is not worth queueing for."""
        self._gated = self.proven
        self._trying.release()

    def answered(self, mode: Mode) -> None:
        """A call in this mode was answered."""
        if not self.proven:
            self.mode = mode
            self.proven = True

    def below(self, mode: Mode) -> Mode | None:
        """The next mode to try where the endpoint refuses this one; None where it is proven or the last."""
        position = LADDER.index(mode) + 1
        return None if self.proven or position == len(LADDER) else LADDER[position]
