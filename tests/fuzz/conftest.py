"""What is fuzzed runs as fast as it does elsewhere."""

from tests.unmeasured import unmeasured  # noqa: F401 - for every test here
