"""Seeded logs and the ten graders of the benchmark."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import orjson
import yaml

#: (name, records, words a message, messages)
WORKLOADS = {"small": (1_000_000, 11, 2), "large": (100_000, 140, 10)}

#: Six patterns (three on the output, three on every assistant message), two contains, a length, an exact; evidence off.
GRADERS: list[dict[str, Any]] = [
    {"name": "refusal", "type": "regex", "pattern": "(?i)i (can't|cannot|will not)", "evidence": False},
    {"name": "ticket", "type": "regex", "pattern": "BUG-[0-9]{4}", "evidence": False},
    {"name": "citation", "type": "regex", "pattern": r"\[[0-9]+\]", "evidence": False},
    {"name": "apology", "type": "transcript-not-matches", "pattern": "(?i)sorry|apolog", "evidence": False},
    {"name": "tool-error", "type": "transcript-not-matches", "pattern": "(error|exception): [a-z]+", "evidence": False},
    {"name": "money", "type": "transcript-matches", "pattern": r"[0-9]+\.[0-9]{2} (USD|EUR)", "evidence": False},
    {"name": "greets", "type": "contains", "texts": ["hello"], "evidence": False},
    {"name": "no-password", "type": "not-contains", "texts": ["password"], "evidence": False},
    {"name": "short", "type": "length", "max": 100, "unit": "words"},
    {"name": "right", "type": "exact"},
]
_SEEDED = [
    "hello",
    "sorry",
    "I cannot",
    "BUG-1234",
    "[3]",
    "error: timeout",
    "12.50 USD",
    "password",
    "Apologies",
    "I can't",
]


def write_workload(path: Path, records: int, words: int, messages: int, seed: int = 7) -> None:
    """Write chat logs, one JSON object a line; the same bytes for the same arguments."""
    chance = random.Random(seed)
    vocabulary = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(4000)]
    sentences = [" ".join(chance.choices(vocabulary, k=words)) for _ in range(3000)]
    with path.open("wb") as file:
        for number in range(records):
            texts = [chance.choice(sentences) for _ in range(messages)]
            texts[-1] = f"{texts[-1]} {chance.choice(_SEEDED)}" if chance.random() < 0.3 else texts[-1]
            turns = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
            reference = texts[-1] if chance.random() < 0.2 else "another answer"
            record = {
                "id": f"t-{number:08d}",
                "created_at": f"2026-11-30T{number % 24:02d}:{number % 60:02d}:00Z",
                "model": "m-1",
                "messages": turns,
                "reference": reference,
            }
            file.write(orjson.dumps(record) + b"\n")


def write_suite(path: Path, log: Path) -> None:
    """The suite that grades a workload."""
    suite = {"name": "bench", "input": {"paths": [str(log)]}, "graders": GRADERS, "allow": {"errors": 1, "rejects": 1}}
    path.write_text(yaml.safe_dump(suite, sort_keys=False))
