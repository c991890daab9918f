"""A home without a daemon."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon import short_directory
from tests.running import end


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary home in the environment; a daemon that was started there is ended."""
    with short_directory() as directory:
        monkeypatch.delenv("REEL_SOCKET", raising=False)
        monkeypatch.delenv("REEL_DATABASE", raising=False)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(directory / "run"))
        monkeypatch.setenv("XDG_STATE_HOME", str(directory / "state"))
        monkeypatch.setenv("HOME", str(directory))
        yield directory
        for path in directory.rglob("*.sock"):
            end(str(path))
