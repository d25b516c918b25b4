"""The kinds of credentials that `secrets` finds, each by the form that its issuer gives it."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections import Counter

from graders.sensitive_text import Check, SensitiveKind, Span, keep_ends

_PLACEHOLDERS = ("example", "xxxx", "your", "placeholder", "changeme", "dummy", "redacted", "****", "....", "<")
_LEAST_ENTROPY = 3.0


def _token(shortest: int, longest: int | None = None) -> Check:
    """A token of so many code points that is no part of something longer and no placeholder of documentation."""

    def checked(candidate: str, before: str, behind: str) -> Span:
        fits = shortest <= len(candidate) and (longest is None or len(candidate) <= longest)
        alone = not (before.isalnum() or before == "_") and not behind.isalnum()
        return (0, len(candidate)) if fits and alone and not _is_placeholder(candidate) else None

    return checked


def _is_placeholder(text: str) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in _PLACEHOLDERS) or len(set(text[-12:])) < 4


def _json_web_token(candidate: str, before: str, behind: str) -> Span:
    header = candidate.split(".", 1)[0]
    try:
        decoded = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return None
    alone = not before.isalnum() and not behind.isalnum()
    return (0, len(candidate)) if alone and isinstance(decoded, dict) and "alg" in decoded else None


def _assigned(candidate: str, before: str, behind: str) -> Span:
    """A value given to a telling name, random enough to be no word."""
    value = candidate.replace("=", ":", 1).split(":", 1)[1].strip(" \"'\t")
    counts = Counter(value)
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values()) if value else 0.0
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return (0, len(candidate)) if mixed and entropy >= _LEAST_ENTROPY and not _is_placeholder(value) else None


def _whole(candidate: str, before: str, behind: str) -> Span:
    return None if _is_placeholder(candidate) else (0, len(candidate))


def _block(candidate: str, before: str, behind: str) -> Span:
    return (0, len(candidate))


def _mask_assigned(value: str) -> str:
    """The name, and stars for what it is given."""
    border = min(place for place in (value.find(":"), value.find("=")) if place >= 0) + 1
    return value[:border] + "*" * (len(value) - border)


def _mask_address(value: str) -> str:
    """The scheme alone."""
    border = value.index("://") + 3
    return value[:border] + "*" * (len(value) - border)


def _mask_block(value: str) -> str:
    return value


_START = keep_ends(4, 0)

KINDS: dict[str, SensitiveKind] = {
    kind.name: kind
    for kind in (
        SensitiveKind("aws-access-key", r"A(?:KIA|SIA)[A-Z2-7]{16}", _token(20, 20), _START),
        SensitiveKind(
            "aws-secret-key",
            r"(?i:aws_secret_access_key|aws_secret_key|secretaccesskey)[\"']? ?[:=] ?[\"']?[A-Za-z0-9/+]{40}",
            _assigned,
            _mask_assigned,
        ),
        SensitiveKind("google-api-key", r"AIza[0-9A-Za-z_\-]{35}", _token(39, 39), _START),
        SensitiveKind("google-oauth-token", r"ya29\.[0-9A-Za-z_\-]{20,}", _token(25), _START),
        SensitiveKind("azure-storage-key", r"AccountKey=[A-Za-z0-9+/]{80,90}==", _whole, _mask_assigned),
        SensitiveKind("github-token", r"gh[pousr]_[A-Za-z0-9]{36,}", _token(40, 255), _START),
        SensitiveKind("github-fine-grained-token", r"github_pat_[A-Za-z0-9_]{60,}", _token(82, 100), _START),
        SensitiveKind("gitlab-token", r"glpat-[A-Za-z0-9_\-]{20,}", _token(26, 64), _START),
        SensitiveKind("slack-token", r"xox[abeoprs]-[A-Za-z0-9\-]{10,}", _token(15, 255), _START),
        SensitiveKind("slack-webhook", r"https://hooks\.slack\.com/services/[A-Za-z0-9+/]{40,}", _whole, _mask_address),
        SensitiveKind("stripe-key", r"[rs]k_live_[0-9A-Za-z]{20,}", _token(28, 255), _START),
        SensitiveKind("anthropic-key", r"sk-ant-[A-Za-z0-9_\-]{20,}", _token(27, 255), _START),
        SensitiveKind("openai-key", r"sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_\-]{20,}", _token(23, 255), _START),
        SensitiveKind("npm-token", r"npm_[A-Za-z0-9]{36}", _token(40, 40), _START),
        SensitiveKind("sendgrid-key", r"SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{32,64}", _token(60, 80), _START),
        SensitiveKind(
            "json-web-token", r"eyJ[A-Za-z0-9_\-]+\.eyJ[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]+", _json_web_token, _START
        ),
        SensitiveKind("private-key", r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----", _block, _mask_block),
        SensitiveKind(
            "password-in-url",
            r"[a-zA-Z][a-zA-Z0-9+.\-]*://[^/\s:@\"'<>]+:[^/\s:@\"'<>]+@[A-Za-z0-9.\-]+",
            _whole,
            _mask_address,
        ),
        SensitiveKind(
            "assigned-secret",
            r"(?i:api[_\-]?key|secret|token|password|passwd|access[_\-]?key)[\"']?"
            r"[ \t]*[:=][ \t]*[\"']?[A-Za-z0-9_\-/+.=]{16,}",
            _assigned,
            _mask_assigned,
        ),
    )
}

#: Found by its name, not by its form: it also finds hashes and ids, so it has to be asked for.
ON_REQUEST = frozenset({"assigned-secret"})
