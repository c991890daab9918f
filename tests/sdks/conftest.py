"""The daemon of the tests of a module, and a client of it."""

from tests.shared_daemon import client, daemon  # noqa: F401 - for every test here
