"""The database that is checked."""

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return a path for the database."""
    return str(tmp_path / "reel.db")
