"""The fixtures of the daemon, its client and a browser."""

from collections.abc import Iterator

import pytest

from tests import engines
from tests.daemon_fixtures import (  # noqa: F401 - for every test here
    client,
    daemon,
    directory,
    home,
    on_each_engine,
    prepared,
)
from tests.end_to_end.browser import Browser, browsing

engine = engines.engine


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser that the tests of a file share, since its start takes seconds; it takes 400 MB while it runs."""
    with browsing(tmp_path_factory.mktemp("browser")) as browser:
        yield browser
