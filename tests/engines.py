"""The databases that a test may use: a file, or tables on a server; a ``conftest`` imports the fixtures."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon import Daemon
from tests.postgres import own_schema


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Any:
    """The name of an engine; a test runs over each, unless it is marked with ``file``."""
    return request.param


@pytest.fixture
def url() -> Iterator[str]:
    """The URL of a database without tables, on a server."""
    with own_schema() as made:
        yield made


@pytest.fixture
def path(engine: str, tmp_path: Path) -> Iterator[str]:
    """The path of a database that does not exist yet, or the URL of one without tables."""
    if engine == "sqlite":
        yield str(tmp_path / "reel.db")
    else:
        with own_schema() as url:
            yield url


@pytest.fixture
def on_each_engine(engine: str, prepared: Daemon) -> Iterator[None]:
    """A daemon on a file, or on tables of a PostgreSQL server; the whole test runs with each."""
    if engine == "sqlite":
        yield
        return
    with own_schema() as url:
        prepared.database = url
        yield
        prepared.close()
