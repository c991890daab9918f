"""The copy that a session keeps of its items is what the daemon has, whatever anybody does to the conversation."""

import json
import random
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import TypeVar

import pytest

import reel
from reel import requests
from reel.base.values import Numeral
from reel.integrations.item_copy import ItemCopy
from reel.requests import Call
from reel.sync.client import Client
from reel.sync.connection import Deadline
from tests.daemon import Daemon, hanging

pytestmark = pytest.mark.slow

R = TypeVar("R")
FORMAT = "openai-responses"
_NUMBERS = count()
CALL: dict[str, object] = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}", "id": "fc_1"}


@pytest.fixture
def copy(client: Client) -> ItemCopy:
    """A copy of the agent ``demo``, which has an item."""
    name = f"demo-{next(_NUMBERS)}"
    client.add_items(name, [said("one")], FORMAT, create=True)
    return ItemCopy(name, FORMAT)


def said(text: str) -> dict[str, object]:
    """Return an item of the user's."""
    return {"role": "user", "content": text}


def whole(client: Client, agent: str) -> list[object]:
    """Return the items that the daemon has."""
    return [found["item"] for found in client.iter_items(agent, FORMAT)]


def add(client: Client, copy: ItemCopy, items: list[dict[str, object]]) -> None:
    """Add items as a session does."""
    call = requests.add_items(copy._new._agent, items, FORMAT)
    copy.note(call.params["items"], client.call(call))


def test_only_what_is_new_is_read(client: Client, copy: ItemCopy) -> None:
    """A second read has the items of the first, and those that were added since."""
    agent = copy._new._agent
    first = copy.read(client)
    client.add_items(agent, [CALL, {**said("big"), "n": Numeral("1e400")}], FORMAT)
    second = copy.read(client)

    assert whole(client, agent) == second == copy.read(client)
    assert first == second[:1]
    assert [1, 2] == [len(json.loads(items)) for items in copy._read_items]


def test_what_it_adds_is_not_read(client: Client, copy: ItemCopy) -> None:
    """What a program adds itself is in its copy, unless others have written before that."""
    agent = copy._new._agent

    def fetched() -> list[object]:
        is_everything, found = copy._new.read(client)
        assert not is_everything
        return [json.loads(item["item_json"]) for item in found]

    copy.read(client)
    add(client, copy, [CALL, {**said("big"), "n": Numeral("1e400")}])
    add(client, copy, [said("own")])
    assert [] == fetched()
    assert whole(client, agent) == copy.read(client)
    client.add(agent, "theirs")
    add(client, copy, [said("behind")])
    assert [said("theirs"), said("behind")] == fetched()


@pytest.mark.parametrize("text", ["NUL \0", "lone \ud800", "wide \u2028 \U0001f4fc"])
def test_what_it_adds_comes_back_as_it_is(client: Client, copy: ItemCopy, text: str) -> None:
    """Characters that messages cannot have are in the items that come back, and so in the copy."""
    copy.read(client)
    add(client, copy, [said(text), {**CALL, "arguments": json.dumps({"text": text})}])

    assert whole(client, copy._new._agent) == copy.read(client)


def test_another_connection(client: Client, copy: ItemCopy) -> None:
    """On another connection all is read again: it may be to another daemon, which has not counted all erasures."""
    copy.read(client)
    client.close()
    client.add_items(copy._new._agent, [CALL], FORMAT)

    assert whole(client, copy._new._agent) == copy.read(client)
    assert [2] == [len(json.loads(items)) for items in copy._read_items]


def test_what_a_caller_changes_is_the_callers(client: Client, copy: ItemCopy) -> None:
    """The items are new ones with each read."""
    copy.read(client)[0]["content"] = "other"

    assert [said("one")] == copy.read(client)


def acts(client: Client, other: Client, copy: ItemCopy, chance: random.Random) -> list[Callable[[int], object]]:
    """Return what may happen to an agent and its name; each gets a number."""
    agent = copy._new._agent
    source, away = f"{agent}-source", f"{agent}-away"

    def swap(_: int) -> None:
        other.change(agent, name=away)
        other.change(source, name=agent)
        other.change(away, name=source)

    def begin_anew(number: int) -> None:
        if number % 10 == 0:
            other.purge(agent)
            other.create(agent)

    other.add(source, "word 1", create=True)
    return [
        lambda _: other.undo(agent),
        lambda _: other.redo(agent),
        lambda _: other.mark(agent),
        lambda _: other.rewind(agent),
        lambda _: other.restore(agent, chance.randrange(other.agent(agent).head + 1)),
        lambda number: number % 10 or other.clear(agent),
        begin_anew,
        lambda _: other.redact(chance.choice([agent, source]), text=f"word {chance.randrange(5)}"),
        lambda _: other.kill(agent),  # it has the name until another one gets it
        *[lambda _: other.clone(source, agent)] * 2,
        swap,
        lambda number: other.add(agent, f"word {number % 5}"),
        *[lambda number: other.add_items(agent, [said(f"item {number}"), CALL], FORMAT)] * 2,
        *[lambda number: add(client, copy, [said(f"own {number}"), CALL])] * 3,
    ]


def test_any_history(daemon: Daemon, client: Client, copy: ItemCopy) -> None:
    """After any commands of others, also about its name, and adds of its own, the copy is what the daemon has."""
    agent, chance, at_once = copy._new._agent, random.Random(7), 0
    with daemon.client() as other:
        all_acts = acts(client, other, copy, chance)
        for number in range(300):
            for act in chance.choices(all_acts, k=chance.randrange(3)):
                with suppress(reel.NothingToUndo, reel.NoSuchMark, reel.Killed, reel.Exists):
                    act(number)
            known = copy.read_at_once(client)
            at_once += known is not None
            assert whole(client, agent) == (copy.read(client) if known is None else known)
            assert whole(client, agent) == copy.read(client)

    assert 50 < at_once < 250


def test_an_agent_that_was_away(client: Client, copy: ItemCopy) -> None:
    """Whoever drops what was read because the name has no agent any more gets everything again when it has."""
    agent = copy._new._agent
    uid = client.agent(agent).id
    copy._new.read(client)
    client.change(uid, name=f"{agent}-away")
    with pytest.raises(reel.NotFound):
        copy._new.read(client)
    client.change(uid, name=agent)
    is_everything, found = copy._new.read(client)

    assert (True, 1) == (is_everything, len(found))


def test_what_others_do_in_between(daemon: Daemon, client: Client, copy: ItemCopy) -> None:
    """While nothing has changed, nothing is asked; what others do is noticed, also between adds of its own."""
    agent = copy._new._agent
    copy.read(client)
    copy.read(client)
    with daemon.client() as other:
        for number in range(20):
            assert copy._new.is_current(client)
            add(client, copy, [said(f"own {number}")])
            assert copy._new.is_current(client)
            if number % 2:
                add(other, ItemCopy(agent, FORMAT), [said(f"theirs {number}")])
            else:
                other.undo(agent)
                add(client, copy, [said(f"behind {number}")])
            assert not copy._new.is_current(client)
            assert copy.read_at_once(client) is None
            assert whole(client, agent) == copy.read(client) == copy.read_at_once(client)


def test_what_others_add_in_the_same_commit(daemon: Daemon, client: Client, copy: ItemCopy) -> None:
    """What two clients add while the agent is busy is one commit; each notices what the other has added."""
    agent = copy._new._agent
    own = requests.add_items(agent, [said("x")], FORMAT)
    with daemon.client() as busy, daemon.client() as other:
        sides = [(client, copy), (other, ItemCopy(agent, FORMAT))]
        for side, kept in sides:
            kept.read(side)
            kept.read(side)
            assert kept._new.is_current(side)
        with hanging(daemon):  # so that all is there when it goes on
            held = begin(busy, requests.redact(agent, text="one", dry_run=True))
            ends = [begin(side, own) for side, _ in sides]
        held()
        added = [end() for end in ends]
        for (_, kept), reply in zip(sides, added, strict=True):
            kept.note(own.params["items"], reply)

        assert {3, 4} == {reply.command for reply in added}
        for side, kept in sides:
            assert whole(side, agent) == (kept.read_at_once(side) or kept.read(side))


def begin(client: Client, call: Call[R]) -> Callable[[], R]:
    """Send a request; return what waits for its reply."""
    connection = client._connection
    assert connection is not None
    connection._number += 1
    connection.send(connection._framing.request(connection._number, call.method, [call.params]), Deadline(None))

    def end() -> R:
        (response,) = connection.receive(Deadline(None))
        assert response.error is None
        return call.read(response.result)

    return end


def test_what_is_long_is_not_read_at_once(client: Client, copy: ItemCopy) -> None:
    """Items that take longer to parse hold up no event loop."""
    copy.read(client)
    copy.read(client)
    add(client, copy, [said("x" * 200_000)])
    assert copy.read(client) == copy.read_at_once(client)
    add(client, copy, [said("x" * 200_000)])

    assert copy._new.is_current(client)
    assert copy.read_at_once(client) is None


def test_what_was_redacted_elsewhere_is_not_kept(client: Client, copy: ItemCopy) -> None:
    """A clone has a secret of its source: when that is redacted, the copy of the clone does not have it either."""
    source = copy._new._agent
    client.add_items(source, [said("the password is fish")], FORMAT)
    clone = client.clone(source).name
    other = ItemCopy(clone, FORMAT)
    assert said("the password is fish") in other.read(client)
    client.redact(source, text="fish")

    assert "fish" not in str(other.read(client))


def test_another_agent_of_the_same_name(client: Client, copy: ItemCopy) -> None:
    """If the agent was killed, and another one has its name, the copy is of that one."""
    agent = copy._new._agent
    copy.read(client)
    client.kill(agent)
    assert [said("one")] == copy.read(client)
    client.add_items(agent, [said("two"), said("three")], FORMAT, create=True)

    assert [said("two"), said("three")] == copy.read(client)


def test_no_agent(client: Client) -> None:
    """A missing agent is an error, and so is one that was purged since."""
    copy = ItemCopy("nobody", FORMAT)
    with pytest.raises(reel.NotFound):
        copy.read(client)
    client.add_items("nobody", [said("here")], FORMAT, create=True)
    assert [said("here")] == copy.read(client)
    client.purge("nobody")
    with pytest.raises(reel.NotFound):
        copy.read(client)
