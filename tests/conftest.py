"""What holds for all tests: none fails for the time that it takes."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "untimed",
    settings.get_profile(settings.get_current_profile_name()),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("untimed")
