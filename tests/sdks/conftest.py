"""The daemon of the tests of a module, and a session of each framework."""

from collections.abc import Iterator
from itertools import count

import pytest

from tests.daemon import Daemon
from tests.sdks.played import FRAMEWORKS, Played
from tests.shared_daemon import daemon  # noqa: F401 - for every test here

_NUMBERS = count()


@pytest.fixture(params=FRAMEWORKS)
def played(request: pytest.FixtureRequest, daemon: Daemon) -> Iterator[Played]:  # noqa: F811 - a fixture
    """A session of each framework."""
    made = FRAMEWORKS[request.param]
    pytest.importorskip(getattr(made, "module"), reason=f"{request.param} is not installed: make adapters")  # noqa: B009
    session = made(daemon.socket, f"played-{next(_NUMBERS)}")
    yield session
    session.close(session.live)
