"""The fixtures of the daemon and its client."""

from tests.daemon_fixtures import client, daemon, directory, home, prepared  # noqa: F401 - for every test here
