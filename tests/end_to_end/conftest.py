"""The fixtures of databases, a home directory and a browser."""

from collections.abc import Iterator

import pytest

from tests import engines
from tests.daemon_fixtures import home  # noqa: F401 - for every test here
from tests.end_to_end.browser import Browser, browsing

engine, on_each_engine, url = engines.engine, engines.on_each_engine, engines.url


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser that the tests of a file share, since its start takes seconds; it takes 400 MB while it runs."""
    with browsing(tmp_path_factory.mktemp("browser")) as browser:
        yield browser
