"""What an editor needs: its program, and an environment."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.daemon import Daemon

Require = Callable[[str], str]


@pytest.fixture(scope="session")
def require() -> Require:
    """Return a function that finds a program; without it the test is skipped, or fails if it is required."""

    def find(program: str) -> str:
        path = shutil.which(program)
        if path is None and os.environ.get("REEL_EDITORS") == "required":
            pytest.fail(f"{program} is not installed, and REEL_EDITORS=required")
        return path or pytest.skip(f"{program} is not installed")

    return find


@pytest.fixture
def configured(directory: Path, prepared: Daemon, environment: dict[str, str]) -> Daemon:
    """A daemon on a socket that only reeld.toml names, and no variable."""
    del environment["REEL_SOCKET"]
    settings = Path(environment["HOME"]) / ".config" / "reel" / "reeld.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'socket = "{prepared.socket}"\n')
    environment["XDG_RUNTIME_DIR"] = str(directory / "run")
    return prepared.start()


@pytest.fixture
def environment(directory: Path, prepared: Daemon) -> dict[str, str]:
    """The environment for an editor: an empty home, the daemon's socket, and the command ``reel`` on the path."""
    home = directory / "home"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "REEL_", "LC_"))}
    return kept | {
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "REEL_SOCKET": prepared.socket,
        "REEL_DATABASE": prepared.database,
    }
