"""Every shared conformance case gives a status that its system's documentation or source accepts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.graders.conformance_runner import status_of
from tests.shared_files import conformance_cases

CASES = conformance_cases()


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case_has_an_accepted_status(case: dict[str, Any]) -> None:
    assert status_of(case) in case["accept"], case["note"]
