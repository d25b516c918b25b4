"""The ecma dialect gives Node's answers; without Node these tests fail, for then nothing was checked."""

from __future__ import annotations

import re
from collections import Counter

import pyarrow as pa

import graders.matching as matching
from tests.graders.matching.node_oracle import Span, ask_node, node
from tests.graders.matching.pattern_grammar import PatternGrammar

_LEADING = re.compile(r"\(\?([ims]+)\)")
_PATTERNS, _TEXTS = 1200, 6
_HAND_WRITTEN: list[tuple[str, list[str]]] = [
    (r"\A\Z", ["AZ", "", "xAZ"]),
    ("^BUG$", ["BUG", "BUG\n"]),
    ("(?m)^b$", ["a\rb\u2028c", "a\nb", "ab"]),
    ("(?i)k", ["K", "K", "k"]),
    ("(?i)s", ["ſ", "S"]),
    ("(?i)[^µ]", ["μ", "Μ", "µ", "x"]),
    (r"\s", ["\ufeff", "\u180e", "\u2003", "\x85"]),
    (r"[^]", ["\n", ""]),
    (r"[]", ["\n", ""]),
    (r"\1(a)", ["a"]),
    (r"(a)|\1b", ["b", "a"]),
    (r"(?<x>.)\k<x>", ["aa", "ab"]),
    (r"(?<=\bfoo)bar(?!z)", ["foobar", "foobarz", "xfoobar"]),
    (r"a{,3}{", ["a{,3}{", "aaa"]),
    (r"(?:a|ab)(?:c|bcd)(?:d*)", ["abcd"]),
    (r"\c_[\c_]", ["\\c_\x1f", "\x1f\x1f"]),
    ("a++", ["a"]),
    ("(?>a)", ["a"]),
    ("(?P<n>a)", ["a"]),
    ("a(?i)b", ["aB"]),
    ("(?#c)", ["a"]),
    ("(?<n>a)(?<n>b)", ["ab"]),
    ("[b-a]", ["a"]),
    ("a{2,1}", ["a"]),
    (r"(?<n>a)\k<m>", ["a"]),
]


def _asked(pattern: str, texts: list[str]) -> tuple[str, str, list[str]]:
    leading = _LEADING.match(pattern)
    return (pattern[leading.end() :], leading.group(1), texts) if leading else (pattern, "", texts)


def _in_utf16(text: str, offset: int) -> int:
    return len(text[:offset].encode("utf-16-le")) // 2


def _compare(cases: list[tuple[str, list[str]]]) -> Counter[str]:
    answers = ask_node([_asked(pattern, texts) for pattern, texts in cases])
    seen: Counter[str] = Counter()
    for (pattern, texts), expected in zip(cases, answers, strict=True):
        try:
            compiled = matching.compile(pattern, "ecma")
        except matching.InvalidPattern as error:
            seen["invalid" if expected is None else "unsupported" if not error.supported else f"valid: {pattern}"] += 1
            continue
        assert expected is not None, f"{pattern!r} is not valid"
        verdicts = compiled.match_array(pa.array(texts), spans=True)
        assert verdicts.limit is None
        for row, text in enumerate(texts):
            _check(pattern, text, verdicts, row, expected[row])
            seen["pairs"] += 1
    assert not [kind for kind in seen if kind.startswith("valid")]
    return seen


def _check(pattern: str, text: str, verdicts: matching.MatchArray, row: int, expected: Span | None) -> None:
    assert verdicts.matched[row].as_py() == (expected is not None), f"{pattern!r} on {text!r}"
    if expected is not None and verdicts.starts is not None:
        start = verdicts.starts[row].as_py()
        assert start is None or _in_utf16(text, start) == expected[0], f"{pattern!r} on {text!r}"


def _one_unit_each(pattern: str, texts: list[str]) -> bool:
    return "ud83d" not in pattern and not any(ord(character) > 0xFFFF for character in pattern + "".join(texts))


def test_generated_patterns_get_nodes_verdicts() -> None:
    cases = [case for case in PatternGrammar("ecma", 2026).cases(_PATTERNS, _TEXTS) if _one_unit_each(*case)]
    seen = _compare(cases)
    assert seen["pairs"] >= 2000
    assert seen["unsupported"] <= len(cases) // 20


def test_hand_written_patterns_get_nodes_verdicts() -> None:
    assert _compare(_HAND_WRITTEN)["pairs"] >= 30


def test_every_character_folds_and_classifies_as_in_node() -> None:
    characters = [chr(point) for point in range(0x3000) if not 0xD800 <= point <= 0xDFFF]
    patterns = [r"\s", r"\w", r"\d", ".", r"(?i)\w", r"(?i)[^a-z]", r"(?i)\W", "(?i)[k-sσ-ωа-я]", "(?i)ß|ŉ|ǰ|ΐ|ᾳ|ı"]
    assert _compare([(pattern, characters) for pattern in patterns])["pairs"] == len(patterns) * len(characters)


def test_node_is_there() -> None:
    assert node()
