"""Seeded random patterns and texts that between them use every construct of a dialect."""

from __future__ import annotations

import random
from collections.abc import Iterator

_LETTERS = "aAbkKsSiI1é"
TEXT_CHARACTERS = "aaAbbkKsSiI11 _-..\n\n\r\t\x0b\x85éÉſKßẞµıİσςΣ\u00a0\u2028\u180e\ufeff٣😀𐐀𐐨ǅ{}[](),"
_SHARED_ATOMS = [
    *_LETTERS,
    *".^$",
    *(r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\b", r"\B"),
    *(r"\n", r"\t", r"\r", r"\f", r"\.", r"\-", r"\x41", r"\0", "-", ",", "é", "ſ", "K", "😀", "σ", "µ", "ß"),
]
_ECMA_ATOMS = [
    *(r"\u00e9", r"\u{61}", r"\u2028", r"\ud83d\ude00", r"\A", r"\Z", r"\z", r"\p", r"\h", r"\cA", r"\c", r"\v"),
    *(r"\08", r"\377", r"\8", r"\k", r"\x", r"\u12", r"\e", "{", "}", "]", "{,3}", "[]", "[^]", r"\/", r"\1", r"\2"),
]
_PCRE_ATOMS = [
    *(r"\A", r"\Z", r"\z", r"\h", r"\H", r"\v", r"\V", r"\R", r"\N", r"\K", r"\G", r"\Qa.b\E", r"\E", r"\e", r"\a"),
    *(r"\x{e9}", r"\o{101}", r"\cA", r"\101", r"\10", "]", "}", "{", r"\p{Lu}", r"\PL", r"\p{^N}", "(?#c)", r"\x"),
    *(r"\N{U+61}", "{,3}", "{ 1 , 2 }", r"\_", r"\8", r"\u", r"\X", r"\1", r"\g1", r"\g{-1}", r"\x{17f}"),
]
_PYTHON_ATOMS = [r"\A", r"\Z", r"\u00e9", r"\U0001F600", r"\a", r"\v", "]", "}", r"\p{L}", r"\h", r"\q", r"\X"]
_CLASS_ITEMS = ["a", "b", "k", "S", "a-z", "A-K", "0-9", "é", "À-ß", r"\d", r"\w", r"\s", r"\W", r"\n", "_", ".", "ſ"]
_CLASS_ITEMS += ["K", "σ", "😀", r"\-", r"\]", "$", "^", "\u00a0", r"\x41", "-", "α-ω", "i", "I"]
_CLASS_EXTRA = {
    "ecma": [r"\b", r"\cA", r"\c_", r"\u00e9", r"\B", r"\8", r"a-\d", r"\w-z", "["],
    "pcre": ["[:alpha:]", "[:^digit:]", "[:upper:]", r"\h", r"\V", r"\Qa-]\E", r"\p{L}", r"\b", r"\x{100}", "["],
    "python": [r"\b", r"\u00e9", "["],
}
_QUANTIFIERS = ["*", "+", "?", "{2}", "{1,}", "{0,2}", "{1,3}", "*?", "+?", "??", "{1,2}?", "{0}"]


class PatternGrammar:
    """Patterns of one dialect, one after the other, from one seed."""

    def __init__(self, dialect: str, seed: int) -> None:
        self.dialect = dialect
        self.random = random.Random(f"{dialect}{seed}")
        extra = {"ecma": _ECMA_ATOMS, "pcre": _PCRE_ATOMS, "python": _PYTHON_ATOMS}[dialect]
        self.atoms = _SHARED_ATOMS * 2 + extra
        self.class_items = _CLASS_ITEMS * 2 + _CLASS_EXTRA[dialect]
        self.quantifiers = _QUANTIFIERS + (["*+", "++", "?+", "{1,2}+"] if dialect != "ecma" else [])
        self.names = 0

    def pattern(self) -> str:
        self.names = 0
        prefix = ""
        if self.random.random() < 0.3:
            prefix = self.random.choice(["(?i)", "(?m)", "(?s)", "(?im)", "(?is)"])
        elif self.dialect == "pcre" and self.random.random() < 0.05:
            prefix = self.random.choice(["(?x)", "(?U)", "(?n)", "(?^i)", "(?xx)"])
        return prefix + self._choice(depth=0)

    def text(self, pattern: str) -> str:
        """A short text, likely to hold characters of the pattern."""
        pool = TEXT_CHARACTERS + pattern * 2
        return "".join(self.random.choice(pool) for _ in range(self.random.randrange(0, 9)))

    def cases(self, patterns: int, texts_each: int) -> Iterator[tuple[str, list[str]]]:
        for _ in range(patterns):
            pattern = self.pattern()
            yield pattern, ["", "a\n", *(self.text(pattern) for _ in range(texts_each - 2))]

    def _choice(self, depth: int) -> str:
        branches = [self._sequence(depth) for _ in range(self.random.choice([1, 1, 1, 1, 2, 3]))]
        return "|".join(branches)

    def _sequence(self, depth: int) -> str:
        return "".join(self._piece(depth) for _ in range(self.random.choice([0, 1, 1, 2, 2, 3, 4])))

    def _piece(self, depth: int) -> str:
        roll = self.random.random()
        if roll < 0.25 and depth < 3:
            atom = self._group(depth)
        elif roll < 0.42:
            atom = self._class()
        else:
            atom = self.random.choice(self.atoms)
        return atom + (self.random.choice(self.quantifiers) if self.random.random() < 0.35 else "")

    def _class(self) -> str:
        items = [self.random.choice(self.class_items) for _ in range(self.random.choice([1, 1, 2, 3]))]
        return f"[{self.random.choice(['', '', '^'])}{''.join(items)}]"

    def _group(self, depth: int) -> str:
        inner = self._choice(depth + 1)
        openings = ["(", "(", "(?:", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?<"]
        if self.dialect == "pcre":
            openings += ["(?>", "(?i:", "(?-i:", "(?s-m:", "(?(1)", "(?|", "(?P<", "(?'", "call", "(?i)", "(?(?=a)"]
        if self.dialect == "python":
            openings += ["(?>", "(?i:", "(?P<"]
        opening = self.random.choice(openings)
        if opening in ("(?<", "(?P<", "(?'"):
            self.names += 1
            opening += f"n{self.names}" + ("'" if opening == "(?'" else ">")
        if opening == "call":
            return self.random.choice(
                ["(?R)?", "(?1)", r"\g<1>", "(a(?1)?b)", "(?:(?i)a|B)", "(?(DEFINE)(?<d>a|b))(?&d)"]
            )
        if opening == "(?i)":
            return "(?i)" + inner.replace("|", "")
        group = f"{opening}{inner})"
        if opening == "(" and self.random.random() < 0.2:
            group += rf"\{self.random.choice('112')}"
        return group
