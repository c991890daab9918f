"""A fixture for tests whose daemons run without coverage, which would slow them; other tests reach the same code."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def without_coverage() -> Iterator[None]:
    """Start processes without coverage; a conftest imports this for its whole directory."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"):
            patch.delenv(name, raising=False)
        yield
