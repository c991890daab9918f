"""Fixtures with a daemon, and the environment for real editors."""

# ruff: noqa: F401 - fixtures for every test here
from tests.daemon_fixtures import client, daemon, directory, prepared
from tests.editors.dripping import dripping, halting
from tests.editors.surroundings import configured, environment, require
