"""The key of a record told from its JSON text, where that is certain to be the key that decoding would give."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_VALUE = re.compile(rb'": ?"([^"\\]+)"')
_ESCAPED_LETTER = re.compile(rb"\\u00[4-7]")


@dataclass(frozen=True, slots=True)
class KeyInText:
    """How the key of a container's records stands in their text.

    Attributes:
        names: JSON keys of which one holds it. A name may also be the end of the key (`trace_id` of `context.trace_id`).
        read: the key of the text that stands under such a name; the same that the container makes of the decoded value.
        unless: bytes that a line must not hold, because the key may then be another one.
    """

    names: tuple[bytes, ...]
    read: Callable[[str], str | None]
    unless: tuple[bytes, ...] = ()

    def of_line(self, line: bytes) -> str | None:
        """The only key that any record of a line of JSON can have; None where only decoding can tell.

        Every mention of the one name that stands in the line must be followed by the same string. So whatever decoding makes of the line,
        each record in it has this key or none: inside a JSON string the quotation mark after the name would be escaped, and a name that is
        itself written with escapes is not told.
        """
        found: list[bytes] | None = None
        for name in self.names:
            parts = line.split(name)
            if len(parts) > 1:
                if found is not None:
                    return None
                found = parts
        if found is None:
            return None
        match = _VALUE.match(found[1])
        if match is None:
            return None
        head = match[0]
        for part in found[2:]:
            if not part.startswith(head):
                return None
        if b"\\u00" in line and _ESCAPED_LETTER.search(line):
            return None
        for bytes_ in self.unless:
            if bytes_ in line:
                return None
        try:
            return self.read(match[1].decode())
        except UnicodeDecodeError:
            return None
