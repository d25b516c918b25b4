r"""PCRE2 in UTF mode without UCP, through the `pcre2` package.

Auto-possessification is off: in 10.47 that optimisation makes `\S{0,2}\v` miss a text that begins with U+2028.
"""

from __future__ import annotations

import pcre2  # type: ignore[import-untyped]
from pcre2 import _cy

_ALT_BSUX = 0x2
_NO_AUTO_POSSESS = int(_cy.CompileOption.NO_AUTO_POSSESS)
_DISABLED = int(_cy.CompileOption.UCP) | _ALT_BSUX
Span = tuple[int, int]


def ask_pcre(source: str, texts: list[str]) -> list[Span | str | None] | None:
    """None if PCRE2 refuses the pattern, else per text the span, None, or the word `error`."""
    try:
        code = _cy.compile(source, _NO_AUTO_POSSESS, _DISABLED)
    except (pcre2.LibraryError, pcre2.PatternError):
        return None
    compiled = pcre2.Pattern(code, source, pcre2.RegexFlag(0), False, None)
    answers: list[Span | str | None] = []
    for text in texts:
        try:
            found = compiled.search(text)
        except (pcre2.LibraryError, pcre2.PatternError):
            answers.append("error")
            continue
        answers.append(None if found is None else (found.start(), found.end()))
    return answers
