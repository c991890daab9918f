"""A daemon that tests share."""

from tests.shared_daemon import daemon  # noqa: F401 - for every test here
