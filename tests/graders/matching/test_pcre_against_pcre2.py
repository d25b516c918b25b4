"""The pcre dialect gives PCRE2's answers (UTF mode, no UCP)."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

import graders.matching as matching
from tests.graders.matching.pattern_grammar import PatternGrammar
from tests.graders.matching.pcre_oracle import ask_pcre

_PATTERNS, _TEXTS = 700, 6
_HAND_WRITTEN: list[tuple[str, list[str]]] = [
    ("^BUG$", ["BUG", "BUG\n", "BUG\n\n"]),
    ("(?m)^$", ["a\n", "a\n\nb", ""]),
    (r"a\Z", ["a", "a\n"]),
    (r"a\z", ["a", "a\n"]),
    ("(?i)k", ["K", "K"]),
    ("(?i)s+", ["ſS"]),
    ("(?i)i", ["İ", "ı", "I"]),
    (r"(?i)[\W_]", ["s", "ſ"]),
    (r"\d\w\s\b", ["٣", "é", "\x85", "\u00a0"]),
    (r"a(?i)b|C", ["aB", "c"]),
    ("a++b|(?>x*)y", ["aab", "xxy"]),
    ("(a(?1)?b)", ["aabb", "ab", "ba"]),
    (r"^(?:(\()|x)(?(1)\))$", ["(", "()", "x"]),
    (r"foo\Kbar", ["foobar"]),
    (r"\Qa.b\E+", ["a.bbb", "axb"]),
    (r"\R", ["\r\n", "\u2028"]),
    (r"[[:upper:]]\h\v", ["A\t\n", "É\u00a0\u2029"]),
    ("(?x) a b # c\n c", ["abc", "a b c"]),
    (r"(?|(a)|(b))\1", ["aa"]),
    ("(*UTF8)a", ["a"]),
    ("(*LIMIT_MATCH=1)a", ["a"]),
    ("(?<=a+)b", ["ab"]),
    ("[a-\\d]", ["a"]),
    ("a**", ["a"]),
    ("(?P<n>a)(?P<n>b)", ["ab"]),
    (r"\2(a)", ["a"]),
]


def _compare(cases: list[tuple[str, list[str]]]) -> Counter[str]:
    seen: Counter[str] = Counter()
    for pattern, texts in cases:
        expected = ask_pcre(pattern, texts)
        try:
            compiled = matching.compile(pattern, "pcre")
        except matching.InvalidPattern as error:
            seen["invalid" if expected is None else "unsupported" if not error.supported else f"valid: {pattern}"] += 1
            continue
        assert expected is not None, f"{pattern!r} is not valid"
        verdicts = compiled.match_array(pa.array(texts), spans=True)
        for row, text in enumerate(texts):
            seen["stopped" if verdicts.matched[row].as_py() is None else "pairs"] += 1
            _check(pattern, text, verdicts, row, expected[row])
    assert not [kind for kind in seen if kind.startswith("valid")]
    return seen


def _check(pattern: str, text: str, verdicts: matching.MatchArray, row: int, expected: object) -> None:
    matched = verdicts.matched[row].as_py()
    if expected == "error" or matched is None:
        return
    assert matched == (expected is not None), f"{pattern!r} on {text!r}"
    if isinstance(expected, tuple) and verdicts.starts is not None:
        assert verdicts.starts[row].as_py() == expected[0], f"{pattern!r} on {text!r}"


def test_generated_patterns_get_pcre2s_verdicts() -> None:
    cases = [case for case in PatternGrammar("pcre", 2026).cases(_PATTERNS, _TEXTS) if "(?R)?" not in case[0]]
    seen = _compare(cases)
    assert seen["pairs"] >= 2000
    assert seen["stopped"] <= 12


def test_hand_written_patterns_get_pcre2s_verdicts() -> None:
    assert _compare(_HAND_WRITTEN)["pairs"] >= 35


def test_every_character_folds_and_classifies_as_in_pcre2() -> None:
    characters = [chr(point) for point in range(0x3000) if not 0xD800 <= point <= 0xDFFF]
    patterns = [
        r"\s",
        r"\w",
        r"\d",
        r"\h",
        r"\v",
        ".",
        r"(?i)\w",
        "(?i)[^a-z]",
        r"(?i)\W",
        "(?i)[k-sσ-ωа-я]",
        "(?i)ß|ı",
    ]
    assert _compare([(pattern, characters) for pattern in patterns])["pairs"] == len(patterns) * len(characters)
