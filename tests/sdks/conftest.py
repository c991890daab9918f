"""The daemon of the tests of a module."""

from tests.shared_daemon import daemon  # noqa: F401 - for every test here
