"""A daemon that follows a script, and names for agents."""

from collections.abc import Iterator

import pytest

from tests.daemon import short_directory
from tests.reel.blocking.scripted_daemon import Script


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A unique name for the test's agent."""
    return "".join(char if char.isalnum() else "-" for char in request.node.name).strip("-")


@pytest.fixture
def script() -> Iterator[Script]:
    """A daemon that follows a script."""
    with short_directory() as directory:
        script = Script(directory / "s")
        yield script
        script.close()
