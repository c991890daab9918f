"""The blocking client reads long results page by page."""

import pytest

from reel import requests
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.pipeline import Pipeline

pytestmark = pytest.mark.slow


def test_all_pages_of_messages(client: Client, name: str) -> None:
    """The iterators return everything, page by page, each item once and in order."""
    sent = [str(number) for number in range(2500)]
    client.create(name, system="be brief")
    client.add(name, sent)

    assert sent == [message["content"][0].get("text") for message in client.iter_messages(name)]
    assert ["be brief", *sent] == [record["content"] for record in client.iter_conversation(name)]
    assert list(range(1, 2503)) == [event["seq"] for event in client.iter_history(name)]


def test_pages_of_a_state_that_moves(client: Client, name: str) -> None:
    """All pages show the state of the first one."""
    client.add(name, [str(number) for number in range(2500)], create=True)
    messages = client.iter_messages(name)
    first = next(messages)
    client.clear(name)
    client.add(name, "another conversation")

    assert 2 == first["seq"]
    assert list(range(3, 2502)) == [message["seq"] for message in messages]


def test_pages_by_size(client: Client, name: str) -> None:
    """A page ends at its size limit, but has at least one message."""
    client.add(name, ["x" * 4000] * 10, create=True)
    pages = list(client.pages(requests.messages(name, max_bytes=10_000)))

    assert [2, 2, 2, 2, 2] == [len(page.messages) for page in pages]
    assert [1] * 10 == [len(page.messages) for page in client.pages(requests.messages(name, max_bytes=1))]


def test_pages_of_a_replay(client: Client, name: str) -> None:
    """The first page of a replay says whether it matches the live state."""
    client.add(name, ["a", "b", "c"], create=True)
    pages = list(client.pages(requests.replay(name, limit=2)))

    assert [True, None] == [page.matched for page in pages]
    assert [2, 3, 4] == [message["seq"] for page in pages for message in page.messages or []]


def test_history_with_what_was_inherited(client: Client, name: str) -> None:
    """The log of a clone starts with its source's past if requested."""
    client.add(name, [str(number) for number in range(1500)], create=True)
    client.clone(name, f"{name}-2")
    client.add(name, "unseen")

    assert ["clone"] == [event["kind"] for event in client.iter_history(f"{name}-2")]
    assert list(range(1, 1503)) == [event["seq"] for event in client.iter_history(f"{name}-2", inherited=True)]


def test_three_thousand_agents(daemon: Daemon, client: Client) -> None:
    """A list of agents comes in pages, in the order in which they were made."""
    names = [f"many-{number}" for number in range(3000)]
    with Pipeline(daemon.socket) as pipeline:
        for start in range(0, 3000, 200):
            pipeline.send(("create", agent) for agent in names[start : start + 200])
            pipeline.receive(start + 200)
    client.kill(names[7])

    assert names == [row.name for row in client.iter_agents("many-")]
    assert [names[7]] == [row.name for row in client.iter_agents("many-", alive=False)]
    assert [1000, 1000, 1000] == [len(page.agents) for page in client.pages(requests.agents("many-"))]
