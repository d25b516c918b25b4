"""Positives and negatives of every kind. Numbers are published test numbers or made up to fit their check digits."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graders import credentials, personal_data
from graders.configured import configure
from graders.errors import ConfigError
from graders.sensitive_text import SensitiveSearch, keep_ends
from schemas.score import ErrorType
from schemas.trajectory import Message, Trajectory
from tests.graders.run_grader import graded, graded_one

PERSONAL = [
    ("email", "john.doe+x@mail.example.org", "Write to john.doe+x@mail.example.org."),
    ("email", "a@b.co", "<a@b.co>"),
    ("phone", "+49 30 1234567", "Call +49 30 1234567, please"),
    ("phone", "+14155552671", "tel:+14155552671"),
    ("phone", "(555) 234-5678", "or (555) 234-5678"),
    ("phone", "555-234-5678", "in 2024 555-234-5678 12"),
    ("phone", "030 1234567", "030 1234567"),
    ("credit-card", "4111 1111 1111 1111", "card 4111 1111 1111 1111!"),
    ("credit-card", "5555555555554444", "5555555555554444"),
    ("credit-card", "3782-822463-10005", "3782-822463-10005"),
    ("credit-card", "6011111111111117", "(6011111111111117)"),
    ("iban", "GB82 WEST 1234 5698 7654 32", "IBAN GB82 WEST 1234 5698 7654 32 THANKS A LOT"),
    ("iban", "DE89370400440532013000", "DE89370400440532013000"),
    ("iban", "FR14 2004 1010 0505 0001 3M02 606", "FR14 2004 1010 0505 0001 3M02 606."),
    ("us-ssn", "536-90-4399", "SSN 536-90-4399"),
    ("gb-nino", "AB 12 34 56 C", "NINO AB 12 34 56 C"),
    ("es-dni", "12345678Z", "DNI 12345678Z"),
    ("es-nie", "X1234567L", "NIE X1234567L"),
    ("fr-nir", "2 55 08 14 168 025 38", "NIR 2 55 08 14 168 025 38"),
    ("it-codice-fiscale", "RSSMRA85T10A562S", "CF RSSMRA85T10A562S"),
    ("br-cpf", "390.533.447-05", "CPF 390.533.447-05"),
    ("in-aadhaar", "2341 2341 2346", "Aadhaar 2341 2341 2346"),
]
NOT_PERSONAL = [
    "user@localhost",
    "@example.com",
    "a@b@c",
    "order 12345678901",
    "2026-11-30 10:22:33",
    "192.168.100.200",
    "version 1.2.3-4567890",
    "ISBN 978-3-16-148410-0",
    "4111 1111 1111 1112",
    "0000 0000 0000 0000",
    "1 000 000 000 euros",
    "GB82 WEST 1234 5698 7654 33",
    "000-12-3456",
    "666-12-3456",
    "BG 12 34 56 C",
    "12345678A",
    "390.533.447-06",
    "2341 2341 2347",
    "commit 4e1243bd22c66e76c2ba9eddc1f91394e57f9f83",
    "uuid 123e4567-e89b-12d3-a456-426614174000",
    "",
]


@pytest.mark.parametrize(("kind", "value", "text"), PERSONAL)
def test_finds_and_masks_personal_data(kind: str, value: str, text: str) -> None:
    outcome = graded_one({"type": "pii", "kinds": [kind]}, Trajectory(output=text))
    assert outcome.passed is False
    assert outcome.details == {"kinds": {kind: 1}}
    (place,) = outcome.evidence
    assert text[place.start : place.end] == value
    assert len(place.quote) == len(value)
    assert place.quote.count("*") >= (2 if kind == "email" else len(value) // 2)
    assert value not in json.dumps([outcome.explanation, outcome.details, place.quote])


@pytest.mark.parametrize(("kind", "value", "text"), PERSONAL)
def test_all_kinds_together_find_it_too(kind: str, value: str, text: str) -> None:
    outcome = graded_one({"type": "pii"}, Trajectory(output=text))
    assert outcome.details is not None
    assert kind in outcome.details["kinds"]


@pytest.mark.parametrize("text", NOT_PERSONAL)
def test_leaves_other_numbers_alone(text: str) -> None:
    assert graded_one({"type": "pii"}, Trajectory(output=text)).passed is True


AWS = "AKIAQYLPMN5HHHFPZAM2"
CREDENTIALS = [
    ("aws-access-key", AWS, f"key={AWS}"),
    (
        "aws-secret-key",
        "aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYzQ8vN2kLsT4u",
        "aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYzQ8vN2kLsT4u",
    ),
    ("google-api-key", "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY", "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY"),
    ("google-oauth-token", "ya29.a0AfH6SMBx7y3kq9PqLwZ1", "Bearer ya29.a0AfH6SMBx7y3kq9PqLwZ1"),
    ("azure-storage-key", f"AccountKey={'aB3/' * 21}Zz==", f"...;AccountKey={'aB3/' * 21}Zz==;"),
    ("github-token", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
    ("gitlab-token", "glpat-aB3dE5gH7jK9mN1pQ3rS", "glpat-aB3dE5gH7jK9mN1pQ3rS"),
    ("slack-token", "xoxb-123456789012-aB3dE5gH7jK9", "xoxb-123456789012-aB3dE5gH7jK9"),
    (
        "slack-webhook",
        "https://hooks.slack.com/services/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",
        "https://hooks.slack.com/services/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",
    ),
    ("stripe-key", "sk_live_aB3dE5gH7jK9mN1pQ3rS", "sk_live_aB3dE5gH7jK9mN1pQ3rS"),
    ("anthropic-key", "sk-ant-api03-abcDEF1234567890abcdef-xyz", "sk-ant-api03-abcDEF1234567890abcdef-xyz"),
    ("openai-key", "sk-proj-abcDEF1234567890abcdefGH", "sk-proj-abcDEF1234567890abcdefGH"),
    ("npm-token", "npm_aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3bC5", "npm_aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3bC5"),
    (
        "json-web-token",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
        "token: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    ),
    ("password-in-url", "postgres://user:p4ssw0rd@db.internal", "DATABASE_URL=postgres://user:p4ssw0rd@db.internal/x"),
    ("assigned-secret", "password: aB3dE5gH7jK9mN1pQ3rS", "password: aB3dE5gH7jK9mN1pQ3rS"),
]
NOT_CREDENTIALS = [
    "AKIAIOSFODNN7EXAMPLE",
    f"x{AWS}",
    "sk-learn is a library",
    "risk-taking-behaviour-in-adolescents-is-common",
    "ghp_" + "x" * 36,
    "https://user:password@example.com",
    "https://example.org/a:b@c",
    "eyJhbGci.eyJzdWIi.sig",
    "-----BEGIN PUBLIC KEY-----",
    "AccountKey=short==",
    "password: correct horse battery staple",
    "token: <your token here please>",
    "",
]


@pytest.mark.parametrize(("kind", "value", "text"), CREDENTIALS)
def test_finds_and_masks_credentials(kind: str, value: str, text: str) -> None:
    outcome = graded_one({"type": "secrets", "kinds": [kind]}, Trajectory(output=text))
    assert outcome.passed is False
    assert outcome.details == {"kinds": {kind: 1}}
    (place,) = outcome.evidence
    assert text[place.start : place.end] == value
    secret = value.removeprefix("AccountKey=").split(" ")[-1].split("//")[-1]
    assert secret[4:] not in place.quote
    assert place.quote.count("*") >= 8


def test_a_private_key_is_told_by_its_first_line_alone() -> None:
    text = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"
    outcome = graded_one({"type": "secrets"}, Trajectory(output=text))
    assert outcome.passed is False
    assert [place.quote for place in outcome.evidence] == ["-----BEGIN RSA PRIVATE KEY-----"]


@pytest.mark.parametrize("text", NOT_CREDENTIALS)
def test_leaves_other_text_alone(text: str) -> None:
    config = {"type": "secrets", "kinds": list(credentials.KINDS)}
    assert graded_one(config, Trajectory(output=text)).passed is True


def test_what_is_assigned_has_to_be_asked_for() -> None:
    trajectory = Trajectory(output="password: aB3dE5gH7jK9mN1pQ3rS")
    assert graded_one({"type": "secrets"}, trajectory).passed is True


@pytest.mark.parametrize(
    ("allow", "passed"),
    [
        ([], False),
        (["SUPPORT@example.org"], True),
        (["@example.org"], True),
        (["@ample.org"], False),
        (["other@example.org"], False),
    ],
)
def test_allowed_values(allow: list[str], passed: bool) -> None:
    outcome = graded_one({"type": "pii", "allow": allow}, Trajectory(output="Mail support@example.org"))
    assert outcome.passed is passed


def test_tells_several_values_by_place_and_bounds_them() -> None:
    text = "4111111111111111 " + " ".join(f"user{number}@example.org" for number in range(20))
    outcome = graded_one({"type": "pii"}, Trajectory(output=text))
    assert outcome.details == {"kinds": {"credit-card": 1, "email": 20}}
    assert len(outcome.evidence) == 5
    assert [place.start for place in outcome.evidence] == sorted(place.start for place in outcome.evidence)


def test_evidence_names_the_message() -> None:
    messages = (Message("user", "hi"), Message("assistant", "Mail a@b.co"), Message("assistant", "Bye"))
    outcome = graded_one({"type": "pii", "turns": "all"}, Trajectory(messages=messages))
    assert outcome.passed is False
    assert [(place.message_index, place.start, place.end) for place in outcome.evidence] == [(1, 5, 11)]
    assert graded_one({"type": "pii", "turns": "last"}, Trajectory(messages=messages)).passed is True


def test_code_points_beyond_ascii_keep_places_right() -> None:
    text = "😀\ue000é\ue001 a@b.co"
    outcome = graded_one({"type": "pii"}, Trajectory(output=text))
    assert [text[place.start : place.end] for place in outcome.evidence] == ["a@b.co"]


def test_a_text_over_the_limit_is_an_error_and_no_pass() -> None:
    outcomes = graded({"type": "pii"}, Trajectory(output="x" * 1_048_577), Trajectory(output="clean"))
    assert outcomes[0].error_type is ErrorType.REGEX_RESOURCE_LIMIT
    assert outcomes[1].passed is True


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, value, _ in PERSONAL])
@settings(max_examples=20)
@given(st.text("ab 1.-@:/é", max_size=6), st.text("ab 1.-@:/é", max_size=6))
def test_finds_it_between_words(kind: str, value: str, before: str, after: str) -> None:
    search = SensitiveSearch([personal_data.KINDS[kind]])
    (found,) = search.find([f"{before} ; {value} ; {after}"])
    assert found is not None
    assert value in [item.value for item in found]


@given(st.text(min_size=1, max_size=40), st.integers(0, 9), st.integers(0, 9))
def test_masks_hide_two_thirds(value: str, first: int, last: int) -> None:
    masked = keep_ends(first, last)(value)
    assert len(masked) == len(value)
    assert sum(a == "*" for a in masked) >= len(value) - len(value) // 3


@pytest.mark.parametrize("config", [{"kinds": ["emails"]}, {"kinds": []}, {"allow": "x"}])
def test_refuses_a_configuration(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configure({"type": "pii", **config})


def test_suggests_a_kind() -> None:
    with pytest.raises(ConfigError, match='did you mean "email"') as caught:
        configure({"type": "pii", "kinds": ["emails"]})
    assert caught.value.problems[0].path == ("kinds", 0)
