"""What a list says a conversation is about: what a person said first, however long it is, and wherever it came from."""

from collections.abc import Iterator

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon, short_directory

_MANY = [text for number in range(550) for text in (f"question {number}", f"more {number}")]


@pytest.fixture
def client() -> Iterator[Client]:
    """A client of a daemon of the test's own."""
    with short_directory() as directory:
        daemon = Daemon(directory).start()
        with daemon.client() as client:
            yield client
        daemon.close()


def first_words(client: Client, name: str) -> str | None:
    """Return what a list shows of a conversation."""
    (row,) = client.agents(prefix=name, details=True).agents
    return row.first_words


def test_the_first_words_of_a_long_conversation(client: Client) -> None:
    """They are those of the first message in effect, after every way to go back and forth."""
    client.add("long", ["the plan", *_MANY], create=True)
    assert "the plan" == first_words(client, "long")
    client.mark("long", "here")
    client.add("long", _MANY)
    client.rewind("long", "here")
    client.add("long", ["again", *_MANY])
    assert "the plan" == first_words(client, "long")
    client.clone("long", "copy")
    assert "the plan" == first_words(client, "copy")
    client.clear("copy")
    client.add("copy", ["another plan", *_MANY])
    assert "another plan" == first_words(client, "copy")
    client.undo("copy")
    client.undo("copy")
    assert "the plan" == first_words(client, "copy")
    client.clear("long")
    client.add("long", ["anew", *_MANY])
    assert "anew" == first_words(client, "long")
    client.clone("long", into="copy")
    client.add("copy", _MANY)

    assert "anew" == first_words(client, "copy")


@pytest.mark.parametrize("parts", [1, 12])
def test_the_first_words_of_a_very_long_conversation(client: Client, parts: int) -> None:
    """They are found from any length, also before the newest milestones are written."""
    client.add("long", "the plan", create=True)
    for part in range(parts):
        client.add("long", [f"{part}", *_MANY])

    assert "the plan" == first_words(client, "long")
