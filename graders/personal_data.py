"""The kinds of personal data that `pii` finds, each with its check."""

from __future__ import annotations

import re
from collections.abc import Callable

from stdnum import iban, luhn
from stdnum.br import cpf
from stdnum.es import dni, nie
from stdnum.fr import nir
from stdnum.in_ import aadhaar
from stdnum.it import codicefiscale
from stdnum.us import ssn

from graders.sensitive_text import Check, SensitiveKind, Span, keep_ends

_CARD_PREFIX = re.compile(
    r"4|5[1-5]|2(?:2[3-9]|[3-6]|7[01]|22[1-9]|720)|3[47]|3(?:0[0-5]|[689])|35(?:2[89]|[3-8])|6(?:011|4[4-9]|5)|62"
)
_BEHIND = r"(?![0-9A-Za-z])"
_INTERNATIONAL = re.compile(r"(?<![\w+#/=.])(?P<number>\+[1-9][0-9]{0,3}(?:[ ().\-/]{0,2}[0-9]{1,12}){1,6})" + _BEHIND)
_NORTH_AMERICAN = re.compile(
    r"(?<![\w+#/=.\-])(?P<number>(?:1[ .\-])?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ .\-])[2-9][0-9]{2}[ .\-][0-9]{4})"
    + _BEHIND
)
_NATIONAL = re.compile(
    r"(?<![\w+#/=.\-])(?P<number>0[1-9][0-9]{1,4}[ /\-][0-9]{2,8}(?:[ \-][0-9]{2,8}){0,3})" + _BEHIND
)
_NINO = re.compile(r"(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z](?: ?[0-9]{2}){3} ?[A-D]")


def _alone(before: str, behind: str) -> bool:
    """Whether neither neighbour is a letter or digit that would make the value a part of something longer."""
    return not before.isalnum() and not behind.isalnum()


def _email(candidate: str, before: str, behind: str) -> Span:
    local, _, domain = candidate.rpartition("@")
    fits = len(local) <= 64 and len(domain) <= 253 and not local.startswith(".") and ".." not in candidate
    return (0, len(candidate)) if fits and _alone(before, behind) else None


def _phone(candidate: str, before: str, behind: str) -> Span:
    """International numbers with +, North American ones, and national ones that start with 0 and have separators.

    A run of digits alone is no phone number: it would be every order number.
    """
    context = (before or " ") + candidate + (behind or " ")
    for pattern in (_INTERNATIONAL, _NORTH_AMERICAN, _NATIONAL):
        for found in pattern.finditer(context):
            start, end = found.span("number")
            if 8 <= sum(map(str.isdigit, found["number"])) <= 15:
                return (start - 1, end - 1)
    return None


def _card(candidate: str, before: str, behind: str) -> Span:
    digits = candidate.replace(" ", "").replace("-", "")
    fits = 13 <= len(digits) <= 19 and len(set(digits)) > 1 and _CARD_PREFIX.match(digits) is not None
    return (0, len(candidate)) if fits and _alone(before, behind) and luhn.is_valid(digits) else None


def _iban(candidate: str, before: str, behind: str) -> Span:
    """The groups may run on into the words behind, so the longest valid beginning counts."""
    if before.isalnum():
        return None
    ends = [place for place, character in enumerate(candidate) if character == " "]
    if not behind.isalnum():
        ends.append(len(candidate))
    for end in reversed(ends):
        if 15 <= end <= 42 and iban.is_valid(candidate[:end]):
            return (0, end)
    return None


def _valid(check: Callable[[str], bool]) -> Check:
    def checked(candidate: str, before: str, behind: str) -> Span:
        return (0, len(candidate)) if _alone(before, behind) and check(candidate) else None

    return checked


def _mask_email(value: str) -> str:
    local, _, domain = value.rpartition("@")
    shown = local[:1] if len(local) > 2 else ""
    return f"{shown}{'*' * (len(local) - len(shown))}@{'*' * domain.rindex('.')}{domain[domain.rindex('.') :]}"


KINDS: dict[str, SensitiveKind] = {
    kind.name: kind
    for kind in (
        SensitiveKind("email", r"[A-Za-z0-9._%+\-]+@[A-Za-z0-9][A-Za-z0-9.\-]*\.[A-Za-z]{2,24}", _email, _mask_email),
        SensitiveKind("phone", r"(?:\+|\(|[0-9])[0-9 ()./\-]{6,20}[0-9]", _phone, keep_ends(0, 2)),
        SensitiveKind("credit-card", r"[2-6][0-9]{3}(?:[ \-]?[0-9]){9,15}", _card, keep_ends(0, 4)),
        SensitiveKind("iban", r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{1,4}){3,10}", _iban, keep_ends(2, 2)),
        SensitiveKind("us-ssn", r"[0-9]{3}-[0-9]{2}-[0-9]{4}", _valid(ssn.is_valid), keep_ends(0, 2)),
        SensitiveKind(
            "gb-nino",
            r"[A-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]",
            _valid(lambda value: _NINO.fullmatch(value) is not None),
            keep_ends(0, 2),
        ),
        SensitiveKind("es-dni", r"[0-9]{8}-?[A-Z]", _valid(dni.is_valid), keep_ends(0, 2)),
        SensitiveKind("es-nie", r"[XYZ]-?[0-9]{7}-?[A-Z]", _valid(nie.is_valid), keep_ends(0, 2)),
        SensitiveKind(
            "fr-nir",
            r"[12] ?[0-9]{2} ?[0-9]{2} ?[0-9AB]{2} ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}",
            _valid(nir.is_valid),
            keep_ends(0, 2),
        ),
        SensitiveKind(
            "it-codice-fiscale",
            r"[A-Z]{6}[0-9]{2}[A-Z][0-9]{2}[A-Z][0-9]{3}[A-Z]",
            _valid(codicefiscale.is_valid),
            keep_ends(0, 2),
        ),
        SensitiveKind("br-cpf", r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}", _valid(cpf.is_valid), keep_ends(0, 2)),
        SensitiveKind(
            "in-aadhaar", r"[2-9][0-9]{3}[ \-][0-9]{4}[ \-][0-9]{4}", _valid(aadhaar.is_valid), keep_ends(0, 2)
        ),
    )
}
