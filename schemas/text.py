"""Making any text storable: no lone surrogates, bounded length, cut on a code point."""

from __future__ import annotations


def storable(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates replaced by U+FFFD, so that UTF-8 can hold it."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def bounded(text: str, limit: int) -> str:
    """At most `limit` code points of `text`; a cut one ends in `…`."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
