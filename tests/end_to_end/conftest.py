"""The fixtures of the daemon, its client and a browser."""

from collections.abc import Iterator

import pytest

from tests.daemon_fixtures import client, daemon, directory, home, prepared  # noqa: F401 - for every test here
from tests.end_to_end.browser import Browser, browsing
from tests.room import room_for_one


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser that the tests of a file share, since its start takes seconds; each page has a profile of its own."""
    with room_for_one(tmp_path_factory), browsing(tmp_path_factory.mktemp("browser")) as browser:
        yield browser
