"""Node's own RegExp, asked many questions in one process."""

from __future__ import annotations

import json
import shutil
import subprocess

SCRIPT = r"""
const cases = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const answers = cases.map(([source, flags, texts]) => {
  let compiled;
  try { compiled = new RegExp(source, flags); } catch (error) { return null; }
  return texts.map(text => {
    const found = compiled.exec(text);
    return found === null ? null : [found.index, found.index + found[0].length];
  });
});
process.stdout.write(JSON.stringify(answers));
"""
Span = tuple[int, int]


def node() -> str:
    found = shutil.which("node")
    assert found, "Node is not installed: the ecma dialect was NOT checked against a real RegExp"
    return found


def ask_node(cases: list[tuple[str, str, list[str]]]) -> list[list[Span | None] | None]:
    """For each (source, flags, texts): None if invalid, else per text the span in UTF-16 units or None."""
    run = subprocess.run(
        [node(), "-e", SCRIPT], input=json.dumps(cases), capture_output=True, text=True, check=True, timeout=120
    )
    answers = json.loads(run.stdout)
    return [None if one is None else [None if span is None else (span[0], span[1]) for span in one] for one in answers]
