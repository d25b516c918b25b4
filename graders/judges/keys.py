"""The keys that routes need, all from the environment. Apart from the client: a suite is checked without an HTTP library."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.routes import RouteConfig


def missing_keys(route: RouteConfig, environ: Mapping[str, str]) -> list[str]:
    """Environment variables that the route needs and that are not set."""
    return [name for name in route.key_variables if not environ.get(name, "").strip()]
