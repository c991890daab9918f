"""Daemons that run as fast under ``make coverage`` as elsewhere: what they reach is counted by other tests."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def unmeasured() -> Iterator[None]:
    """Start processes without measuring them; for whole directories, whose conftest imports this."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"):
            patch.delenv(name, raising=False)
        yield
