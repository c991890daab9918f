"""Searching, with a real daemon that is killed and started again."""

import threading
from pathlib import Path
from typing import Any

import pytest

from reel import requests
from reel.base.errors import InvalidParams
from reel.sync.client import Client
from tests.daemon import Daemon, until, until_indexed

pytestmark = pytest.mark.usefixtures("on_each_engine")


def found(client: Client, query: str) -> int:
    """Return how many hits a query has once everything is in the index."""
    until_indexed(client)
    return len(client.search(query, limit=1000).hits)


def test_crashes(daemon: Daemon, client: Client) -> None:
    """Whenever the daemon is killed, everything is found afterwards, once."""
    client.create("demo")
    for number in range(5):
        client.add("demo", [f"needle in batch {number}"] * 100)
        daemon.kill()
        daemon.start()

    assert 500 == found(client, "needle")


def test_adds_are_found_under_load(daemon: Daemon, client: Client) -> None:
    """While others add without a pause, what was committed is soon found."""
    ended = threading.Event()

    def load() -> None:
        with daemon.client() as busy:
            while not ended.is_set():
                busy.add("busy", "filler", create=True)

    loaders = [threading.Thread(target=load) for _ in range(3)]
    for loader in loaders:
        loader.start()
    try:
        for number in range(5):
            client.add("demo", f"needle{number}", create=True)
            until(lambda: len(client.search(f"needle{number}").hits) == 1)  # noqa: B023 - it is called here
    finally:
        ended.set()
        for loader in loaders:
            loader.join()


@pytest.mark.file
def test_lost_index(daemon: Daemon, client: Client) -> None:
    """An index that was deleted while no daemon ran is built again."""
    client.add("demo", "needle", create=True)
    assert 1 == found(client, "needle")
    daemon.end()
    Path(daemon.database).with_name("r-search.db").unlink()
    daemon.start()

    assert 1 == found(client, "needle")


def test_pages_of_a_client(client: Client) -> None:
    """A client reads page after page."""
    client.add("demo", [f"needle {number}" for number in range(25)], create=True)
    assert 25 == found(client, "needle")
    pages = list(client.pages(requests.search("needle", limit=10)))

    assert [10, 10, 5] == [len(page.hits) for page in pages][:3]
    assert "needle 24" == pages[0].hits[0].snippet


def test_conversations_of_a_directory(client: Client) -> None:
    """Only what was said in conversations that were begun in one of some directories, or below one, is found."""
    for directory in ("/srv/a", "/srv/a/sub", "/srv/ab", '/srv/"b', None):
        name = f"in-{len(client.agents().agents)}"
        client.create(name, tags={} if directory is None else {"cwd": directory, "topic": "x"})
        client.add(name, f"needle {directory}")
    assert 5 == found(client, "needle")

    def said(query: str = "needle", **more: Any) -> list[str]:
        return [hit.snippet for hit in client.search(query, **more).hits]

    assert ["needle /srv/a/sub", "needle /srv/a"] == said(dirs=["/srv/a/"])
    assert ['needle /srv/"b', "needle /srv/ab"] == said(dirs=["/srv/ab", '/srv/"b'], tags={"topic": "x"})
    assert ["needle /srv/a/sub", "needle /srv/a"] == said("needle in:/srv/a")
    assert [] == said(dirs=["/srv/c"])
    assert 4 == len(said("", dirs=["/"], roles=["user"]))
    with pytest.raises(InvalidParams, match="1 to 100 absolute paths"):
        said(dirs=["."])
