"""The fuzzed daemon runs without coverage, which would slow it."""

from tests.without_coverage import without_coverage  # noqa: F401 - for every test here
