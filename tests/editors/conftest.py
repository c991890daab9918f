"""The environment for real editors, and their fixtures."""

# ruff: noqa: F401 - fixtures for every test here
from tests.editors.dripping import breaking, dripping, halting, older
from tests.editors.surroundings import configured, environment, require
from tests.reused_daemon import daemon, prepared, reused
