"""What a reader without a tag does not see, over each engine."""

import pytest

from reel.base.errors import NotFound
from reel.sync.client import Client
from tests.daemon import until_indexed

pytestmark = pytest.mark.usefixtures("on_each_engine")


def make_family(client: Client, **others: str) -> None:
    """Make agents of a tool: two without a parent, sub-agents of ``secret``, others, and a clone of ``secret``.

    Args:
        client: the client that makes them.
        others: further agents, and what each names as its parent.
    """
    parents = {"open": "", "secret": "", "child": "tool/1", "grandchild": "tool/2", "by-name": "secret", **others}
    for number, (name, parent) in enumerate(parents.items()):
        client.create(name, tags={"import": f"tool/{number}"} | ({"parent": parent} if parent else {}))
        client.add(name, f"a zebra in {name}")
    client.clone("secret", "copy")


def test_what_is_private(client: Client) -> None:
    """An agent with the tag, its clones, their clones, and what took it over are in no answer, nor in its limit."""
    for name in ("open", "secret", "taker", "late"):
        client.add(name, f"a zebra in {name}", create=True)
    client.clone("secret", "copy")
    client.clone("copy", "copy-of-copy")
    client.clone("secret", into="taker")
    client.clone("open", "fine")
    client.change("secret", tags={"private": "yes"})
    client.change("open", tags={"other": "private"})
    until_indexed(client)
    listed = client.agents(without_tag="private", limit=3)
    found = client.search("zebra", without_tag="private", limit=4)

    assert ["open", "late", "fine"] == [row.name for row in listed.agents]
    assert not listed.more
    assert {"open", "late"} == {hit.name for hit in found.hits}
    assert not found.more
    for name in ("secret", "copy-of-copy", "taker"):
        with pytest.raises(NotFound):
            client.agent(name, without_tag="private")
        assert name == client.agent(name).name
    assert "open" == client.agent("open", without_tag="private").name
    assert 7 == len(client.agents(without_tag="nothing").agents)


def test_what_belongs_to_what_is_private(client: Client) -> None:
    """Sub-agents of a private agent are private, also theirs, those of its clones, and after it was renamed."""
    make_family(client, **{"of-copy": "copy", "other": "open"})
    client.change("secret", tags={"private": "yes", "import": "tool/1"})
    until_indexed(client)

    assert ["open", "other"] == [row.name for row in client.agents(without_tag="private").agents]
    assert {"open", "other"} == {hit.name for hit in client.search("zebra", without_tag="private").hits}
    client.change("child", name="renamed-child")
    client.change("secret", name="renamed")
    for name in ("renamed-child", "grandchild"):
        with pytest.raises(NotFound):
            client.agent(name, without_tag="private")


def test_what_belonged_to_what_was_purged(client: Client) -> None:
    """A purge makes nothing visible: what was private with the agent stays so, and goes when it is purged itself."""
    make_family(client, other="open")
    client.clone("secret", into="other")
    client.change("secret", tags={"private": "yes", "import": "tool/1"})
    for purged in ("secret", "child"):
        client.purge(purged)
        until_indexed(client)

        assert ["open"] == [row.name for row in client.agents(without_tag="private").agents]
        assert {"open"} == {hit.name for hit in client.search("zebra", without_tag="private").hits}
        assert {"grandchild", "by-name", "other", "copy"} < {row.name for row in client.agents().agents}
    for name in ("by-name", "grandchild", "copy", "open"):
        client.purge(name)
    client.create("new", tags={"parent": "open"})

    assert ["new"] == [row.name for row in client.agents(without_tag="private").agents]


def test_nothing_remains_of_a_family_that_was_purged(client: Client) -> None:
    """What remained of an agent for its sub-agents goes with the last of these, at once."""
    for name, tags in {"secret": {"private": "yes"}, "child": {"parent": "secret"}}.items():
        client.create(name, tags=tags)
    for name in ("secret", "child"):
        client.purge(name)
    client.create("new", tags={"parent": "secret"})

    assert ["new"] == [row.name for row in client.agents(without_tag="private").agents]


def test_words_that_only_private_conversations_have(client: Client) -> None:
    """A search names no word instead of an unknown one to a reader from whom conversations are hidden."""
    client.add("secret", "the zeppelin is late", create=True)
    client.add("open", "the train is late", create=True)
    client.change("secret", tags={"private": "yes"})
    until_indexed(client)
    seen = client.search("zepelin late", order="best")
    unseen = client.search("zepelin late", order="best", without_tag="private")

    assert {"zepelin": ["zeppelin"]} == seen.instead
    assert not unseen.instead
    assert ["open"] == [hit.name for hit in unseen.hits]
    assert seen.instead == client.search("zepelin late", order="best", without_tag="nothing").instead
