"""The fixtures of the daemon, its client and a browser."""

from collections.abc import Iterator

import pytest

from tests.daemon_fixtures import client, daemon, directory, home, prepared  # noqa: F401 - for every test here
from tests.end_to_end.browser import Browser, browsing


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser that all tests share, since its start takes seconds; each page has a profile of its own."""
    with browsing(tmp_path_factory.mktemp("browser")) as browser:
        yield browser
