"""A daemon of the test's own, and a client of it."""

from tests.daemon_fixtures import client, daemon, directory, home, prepared  # noqa: F401 - for every test here
