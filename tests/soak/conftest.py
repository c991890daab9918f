"""The fixtures of the soak test."""

from tests.daemon_fixtures import directory  # noqa: F401 - for the test
