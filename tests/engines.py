"""The databases that a test may use: a file, or tables on a server; a ``conftest`` imports the fixtures."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.postgres import own_schema


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Any:
    """The name of an engine; a test runs over each, unless it is marked with ``file``."""
    return request.param


@pytest.fixture
def path(engine: str, tmp_path: Path) -> Iterator[str]:
    """The path of a database that does not exist yet, or the URL of one without tables."""
    if engine == "sqlite":
        yield str(tmp_path / "reel.db")
    else:
        with own_schema() as url:
            yield url
