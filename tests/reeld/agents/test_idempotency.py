"""A command that was given before is not done again."""

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

import anyio
import pytest

from reel.errors import Conflict, InvalidParams, Killed, NotFound, NothingToUndo
from reeld.agents.agent import Agent
from reeld.agents.idempotency import digest
from reeld.store import store
from tests.reeld.agents.conftest import Open
from tests.reeld.agents.deck import Deck

Keyed: TypeAlias = Callable[[Deck, str | None], Awaitable[Any]]

COMMANDS: dict[str, Keyed] = {
    "create": lambda deck, key: deck.create("new", "p", key=key),
    "create_unnamed": lambda deck, key: deck.create(key=key),
    "add": lambda deck, key: deck.add("a", "x", key=key),
    "add_create": lambda deck, key: deck.add("new", "x", create=True, key=key),
    "mark": lambda deck, key: deck.mark("a", key=key),
    "clear": lambda deck, key: deck.clear("a", key=key),
    "rewind": lambda deck, key: deck.rewind("a", key=key),
    "restore": lambda deck, key: deck.restore("a", 1, key=key),
    "undo": lambda deck, key: deck.undo("a", key=key),
    "redo": lambda deck, key: deck.redo("a", key=key),
    "change": lambda deck, key: deck.change("a", title="T", key=key),
    "rename": lambda deck, key: deck.change("a", "z", key=key),
    "clone": lambda deck, key: deck.clone("a", key=key),
    "clone_named": lambda deck, key: deck.clone("a", "new", key=key),
    "clone_into": lambda deck, key: deck.clone_into("b", "a", key=key),
    "kill": lambda deck, key: deck.kill("a", key=key),
    "cascade": lambda deck, key: deck.kill("a", cascade=True, key=key),
    "revive": lambda deck, key: deck.revive("dead", key=key),
}
every_command = pytest.mark.parametrize("act", COMMANDS.values(), ids=COMMANDS)


async def prepare(deck: Deck) -> None:
    """Make agents that every command can be given to."""
    await deck.create("dead")
    await deck.kill("dead")
    await deck.create("b")
    await deck.create("a")
    await deck.mark("a")
    await deck.add("a", "one")
    await deck.add("a", "two")
    await deck.undo("a")


async def newest(deck: Deck) -> int:
    """The id of the newest event."""
    return (await deck.store.totals())["newest_event"]


@every_command
async def test_the_same_key_again(deck: Deck, act: Keyed) -> None:
    """The first reply comes back, marked, and nothing is written."""
    await prepare(deck)
    first = await act(deck, "k")
    before = await newest(deck)

    assert {**first, "repeated": True} == await act(deck, "k")
    assert before == await newest(deck)


@every_command
async def test_the_same_key_after_a_restart(opened: Open, act: Keyed) -> None:
    """A key is remembered by the database."""
    async with opened() as deck:
        await prepare(deck)
        first = await act(deck, "k")
    async with opened() as deck:
        again = await act(deck, "k")

    assert {**first, "repeated": True} == again


@every_command
async def test_a_key_that_stands_for_another_command(deck: Deck, act: Keyed) -> None:
    """It is refused, and nothing is written."""
    await prepare(deck)
    await deck.add("b", "something else", key="k")
    before = await newest(deck)

    with pytest.raises(Conflict, match="the key k stands for another command"):
        await act(deck, "k")
    assert before == await newest(deck)


async def test_a_key_that_stands_for_another_content(deck: Deck) -> None:
    """One word that differs is another command."""
    await deck.add("a", "one", create=True, key="k")
    with pytest.raises(Conflict) as refused:
        await deck.add("a", "two", create=True, key="k")

    assert {"key": "k"} == refused.value.data
    assert ["one"] == await deck.texts("a")


async def test_a_key_goes_before_if_seq(deck: Deck) -> None:
    """What was done before is repeated, though the head moved on since; in a run and in a turn."""
    await deck.create("a")
    first = await deck.add("a", "one", if_seq=1, key="k")
    cleared = await deck.clear("a", if_seq=2, key="c")

    assert {**first, "repeated": True} == await deck.add("a", "one", if_seq=1, key="k")
    assert {**cleared, "repeated": True} == await deck.clear("a", if_seq=2, key="c")


async def test_a_key_goes_before_death(deck: Deck) -> None:
    """A repeat is answered after the agent died, a new command is not."""
    await deck.create("a")
    first = await deck.add("a", "one", key="k")
    await deck.kill("a")

    assert {**first, "repeated": True} == await deck.add("a", "one", key="k")
    with pytest.raises(Killed):
        await deck.add("a", "one", key="other")


async def test_a_key_goes_before_the_name(deck: Deck) -> None:
    """A repeat is answered when nobody is called that any more."""
    await deck.create("a")
    first = await deck.add("a", "one", key="k")
    await deck.change("a", "b")

    assert {**first, "repeated": True} == await deck.add("a", "one", key="k")
    with pytest.raises(NotFound):
        await deck.add("a", "one", key="other")


async def test_a_key_twice_in_one_run(deck: Deck) -> None:
    """Of commands that are written together the second of a key is the repeat; the others are carried out."""
    await deck.create("a")
    agent = await deck.registry.find("a")
    replies: list[Any] = []
    await together(deck, agent, [("one", "k"), ("one", "k"), ("two", None), ("other", "k")], replies)

    assert ["one", "two"] == await deck.texts("a")
    assert {**replies[0], "repeated": True} == replies[1]
    assert 3 == replies[2]["head"]
    assert isinstance(replies[3], Conflict)


async def test_a_repeat_that_is_refused_in_the_run_of_its_original(deck: Deck) -> None:
    """It is looked up when the original has been committed, not before."""
    await deck.create("a")
    agent = await deck.registry.find("a")
    replies: list[Any] = []
    await together(deck, agent, [("one", "k"), ("one", "k")], replies, if_seq=1)

    assert {**replies[0], "repeated": True} == replies[1]
    assert ["one"] == await deck.texts("a")


async def together(
    deck: Deck, agent: Agent, adds: list[tuple[str, str | None]], replies: list[Any], if_seq: int | None = None
) -> None:
    """Put adds into a mailbox at once, and wait until all are answered."""
    answered = anyio.Event()

    def answer(number: int, reply: Any) -> None:
        replies[number] = reply
        if None not in replies:
            answered.set()

    replies[:] = [None] * len(adds)
    for number, (text, key) in enumerate(adds):
        deck.post(agent, text, key=key, if_seq=if_seq, answer=partial(answer, number))
    deck.registry.advance()
    await answered.wait()


async def test_a_key_that_two_agents_are_given_at_once(deck: Deck) -> None:
    """Keys are unique in the database: one agent has it, the other's caller is told."""
    await deck.create("a")
    await deck.create("b")
    outcomes: list[str] = []

    async def attempt(name: str) -> None:
        try:
            outcomes.append((await deck.add(name, name, key="k"))["agent"])
        except Conflict:
            outcomes.append("conflict")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(attempt, "a")
        tasks.start_soon(attempt, "b")

    assert 1 == outcomes.count("conflict")
    assert 1 == len(await deck.texts("a")) + len(await deck.texts("b"))


async def test_a_key_of_a_command_that_was_refused(deck: Deck) -> None:
    """Nothing was done, so the key is free."""
    await deck.create("a")
    for attempt in (deck.undo("a", key="k"), deck.restore("a", 9, key="k"), deck.change("a", key="k")):
        with pytest.raises((NothingToUndo, InvalidParams)):
            await attempt

    assert 2 == (await deck.add("a", "one", key="k"))["head"]


async def test_a_key_after_the_clock_jumped(deck: Deck, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that was used in 1970 is known decades later, whatever was tidied in between."""
    await deck.create("a")
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    await deck.add("a", "one", key="k")
    monkeypatch.undo()
    await deck.store.tidy()

    assert (await deck.add("a", "one", key="k"))["repeated"]
    assert ["one"] == await deck.texts("a")


async def test_a_key_that_was_forgotten(deck: Deck, monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many later keys a repeat is a new command."""
    monkeypatch.setattr(store, "KEYS_KEPT", 1)
    await deck.add("a", "one", create=True, key="k")
    await deck.add("a", "two", key="l")
    await deck.store.tidy()
    await deck.add("a", "one", create=True, key="k")

    assert ["one", "two", "one"] == await deck.texts("a")


def test_a_digest_tells_contents_apart() -> None:
    """Method, values and their order matter; what no text can have is no obstacle."""
    contents: list[tuple[str, list[Any]]] = [
        ("add", ["a"]),
        ("add", ["b"]),
        ("mark", ["a"]),
        ("add", [["a"]]),
        ("add", ["\ud800"]),
        ("add", [None]),
    ]

    assert len(contents) == len({digest(method, params) for method, params in contents})
    assert digest("add", ["a"]) == digest("add", ("a",))
