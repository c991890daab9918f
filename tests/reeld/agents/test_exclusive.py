"""Clear, rewind, restore, undo, redo, change, revive, replay: each command, alone and after the others."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from reel.errors import (
    Conflict,
    Exists,
    InvalidMessage,
    InvalidParams,
    Killed,
    NoSuchMark,
    NothingToUndo,
    ReelError,
)
from tests.reeld.agents.conftest import Open
from tests.reeld.agents.deck import Deck, insert

Act: TypeAlias = Callable[[Deck], Awaitable[Any]]

CALL = {"kind": "tool_call", "content": "f()", "data_json": '{"tool_call_id":"c1","name":"f","arguments":""}'}
RESULT = {"kind": "tool_result", "content": "out", "data_json": '{"tool_call_id":"c1","output":"","success":true}'}


async def test_clear_restates_the_prompt(deck: Deck) -> None:
    """Everything leaves, marks too; the prompt is said again, and the reply has what brings all back."""
    await deck.create("a", "be brief")
    await deck.add("a", "one")
    await deck.mark("a", "m")
    reply = await deck.clear("a")

    assert (4, 5, 6) == (reply["was"], reply["command"], reply["head"])
    assert ["be brief"] == await deck.texts("a")
    await deck.restore("a", reply["was"])
    assert ["be brief", "one", "[m]"] == await deck.texts("a")


async def test_clear_forgets_a_prompt_that_was_removed(deck: Deck) -> None:
    """Where no prompt is in force none is restated."""
    await deck.create("a", "be brief")
    await deck.add("a", {"role": "system", "content": ""})
    await deck.clear("a")

    assert [] == await deck.texts("a")


async def test_a_mark_from_before_a_clear_is_gone(deck: Deck) -> None:
    """A rewind to it is refused, and writes nothing."""
    await deck.create("a")
    await deck.mark("a", "m")
    await deck.clear("a")
    with pytest.raises(NoSuchMark) as refused:
        await deck.rewind("a", "m")

    assert {"label": "m", "labels": []} == refused.value.data
    assert 3 == (await deck.state("a")).profile.head


async def test_rewind_by_label_takes_the_newest(deck: Deck) -> None:
    """Of two marks with one label the newest wins; the mark stays, what came after it leaves."""
    await deck.create("a")
    for text in ("one", "two"):
        await deck.mark("a", "m")
        await deck.add("a", text)
    reply = await deck.rewind("a", "m")

    assert (4, 1, 5) == (reply["target"], reply["dropped"], reply["was"])
    assert ["[m]", "one", "[m]"] == await deck.texts("a")


async def test_a_bare_rewind_walks_back(deck: Deck) -> None:
    """Repeated, it goes from mark to mark, and ends where no mark has anything after it."""
    await deck.create("a")
    for text in ("one", "two"):
        await deck.mark("a")
        await deck.add("a", text)
    await deck.rewind("a")
    assert ["[]", "one", "[]"] == await deck.texts("a")

    await deck.rewind("a")
    assert ["[]"] == await deck.texts("a")
    with pytest.raises(NoSuchMark):
        await deck.rewind("a")


async def test_rewind_brings_an_older_prompt_back(deck: Deck) -> None:
    """A prompt that was set after the mark leaves with the rest."""
    await deck.create("a", "first")
    await deck.mark("a")
    await deck.add("a", {"role": "system", "content": "second"})
    await deck.rewind("a")

    assert "first" == (await deck.state("a")).conversation.system


@pytest.mark.parametrize(
    ("at", "expected"), [(0, []), (1, []), (2, ["1", "2", "3"]), (3, ["1", "2", "3"]), (4, ["1", "2", "3"])]
)
async def test_restore_inside_a_command_means_its_end(deck: Deck, at: int, expected: list[str]) -> None:
    """No position is in the middle of what was written together."""
    await deck.create("a")
    await deck.add("a", "1", "2", "3")
    await deck.add("a", "4")
    await deck.restore("a", at)

    assert expected == await deck.texts("a")
    assert (await deck.replay("a")).matched


@pytest.mark.parametrize("at", [-1, 3])
async def test_restore_to_where_the_agent_never_was(deck: Deck, at: int) -> None:
    """A position that was not reached is refused, and writes nothing."""
    await deck.create("a")
    await deck.add("a", "1")

    with pytest.raises(InvalidParams, match="agent a has positions 0 to 2"):
        await deck.restore("a", at)
    assert 2 == (await deck.state("a")).profile.head


# --- undo and redo


async def into(deck: Deck) -> None:
    """Replace the state by another agent's."""
    await deck.create("other", "other prompt")
    await deck.add("other", "x")
    await deck.clone_into("other", "a")


COUNTING: list[Act] = [
    lambda deck: deck.add("a", "new", "and more"),
    lambda deck: deck.add("a", {"role": "system", "content": "new prompt"}),
    lambda deck: deck.add("a", CALL),
    lambda deck: deck.add("a", RESULT),
    lambda deck: deck.clear("a"),
    lambda deck: deck.mark("a", "new"),
    lambda deck: deck.rewind("a", "m"),
    lambda deck: deck.restore("a", 0),
    lambda deck: deck.restore("a", 7),
    into,
]
NAMES = ["add", "prompt", "call", "result", "clear", "mark", "rewind", "restore", "no_op", "into"]


async def fill(deck: Deck) -> None:
    """Make an agent with something of everything."""
    await deck.create("a", "be brief")
    await deck.add("a", "one", CALL)
    await deck.mark("a", "m")
    await deck.add("a", "two")
    await deck.add("a", {"kind": "note", "content": "inert"})


@pytest.mark.parametrize("act", COUNTING, ids=NAMES)
async def test_undo_and_redo_of_every_kind(deck: Deck, act: Act) -> None:
    """Undo brings back what was before any command, redo what was after it, and so it is read from the log."""
    await fill(deck)
    before = await deck.texts("a")
    await act(deck)
    after = await deck.texts("a")
    undone = await deck.undo("a")
    assert before == await deck.texts("a")
    assert (await deck.replay("a")).matched

    redone = await deck.redo("a")
    assert after == await deck.texts("a")
    assert undone["undone"] == redone["redone"]
    assert (await deck.replay("a")).matched
    deck.registry.retire(keep=0)
    assert after == await deck.texts("a")


async def test_undo_goes_back_to_the_first_state(deck: Deck) -> None:
    """Each undo takes one command; the prompt that came with create is never taken."""
    await fill(deck)
    for expected in (["be brief", "one", "f()", "[m]"], ["be brief", "one", "f()"], ["be brief"]):
        await deck.undo("a")
        assert expected == await deck.texts("a")

    with pytest.raises(NothingToUndo, match="agent a is in its first state"):
        await deck.undo("a")


async def test_redo_goes_forward_again(deck: Deck) -> None:
    """What was undone comes back one by one, across a restart of the agent, and then there is nothing left."""
    await fill(deck)
    for _ in range(3):
        await deck.undo("a")
    deck.registry.retire(keep=0)
    for expected in (["be brief", "one", "f()"], ["be brief", "one", "f()", "[m]"]):
        await deck.redo("a")
        assert expected == await deck.texts("a")
    await deck.redo("a")

    assert ["be brief", "one", "f()", "[m]", "two"] == await deck.texts("a")
    with pytest.raises(NothingToUndo, match="agent a has no undo that could be taken back"):
        await deck.redo("a")


async def test_a_new_command_ends_the_chain_of_redos(deck: Deck) -> None:
    """What was undone before something was said cannot be brought back by redo; inert events do not matter."""
    await deck.create("a")
    await deck.add("a", "one")
    await deck.undo("a")
    await deck.add("a", {"kind": "note", "content": "inert"})
    await deck.change("a", title="T")
    await deck.redo("a")
    await deck.undo("a")
    await deck.add("a", "two")

    with pytest.raises(NothingToUndo):
        await deck.redo("a")
    assert ["two"] == await deck.texts("a")


async def test_an_undo_after_a_redo(deck: Deck) -> None:
    """A command that came back can be undone again, and the ones before it."""
    await deck.create("a")
    await deck.add("a", "one")
    await deck.add("a", "two")
    for act in (deck.undo, deck.undo, deck.redo, deck.redo, deck.undo):
        await act("a")
    assert ["one"] == await deck.texts("a")

    assert 2 == (await deck.undo("a"))["undone"]
    assert [] == await deck.texts("a")


async def test_a_restore_that_reverses_an_undo_is_a_command_of_its_own(deck: Deck) -> None:
    """Undoing it gives the undone state, not the one before the undo."""
    await deck.create("a")
    await deck.add("a", "one")
    was = (await deck.undo("a"))["was"]
    await deck.restore("a", was)
    assert ["one"] == await deck.texts("a")

    await deck.undo("a")
    assert [] == await deck.texts("a")


async def test_messages_that_made_the_agent_can_be_undone(deck: Deck) -> None:
    """What add with create wrote is a command like any other."""
    await deck.add("a", "one", "two", create=True)
    undone = await deck.undo("a")

    assert (1, 3) == (undone["undone"], undone["was"])
    assert [] == await deck.texts("a")
    await deck.redo("a")
    assert ["one", "two"] == await deck.texts("a")


async def test_a_clone_cannot_undo_its_sources_commands(deck: Deck) -> None:
    """Its first state is what it was cloned from."""
    await deck.create("a")
    await deck.add("a", "one")
    await deck.clone("a", "b")

    with pytest.raises(NothingToUndo):
        await deck.undo("b")


async def test_two_thousand_undos_cost_nothing_to_load(deck: Deck) -> None:
    """The state is found by walking what lives, however much was done and undone around it."""
    await deck.store._database.run(lambda connection: connection.execute("PRAGMA synchronous = OFF").fetchall())
    await deck.add("a", "stays", create=True)
    for number in range(2000):
        await deck.add("a", str(number))
        await deck.undo("a")
    deck.registry.retire(keep=0)
    steps: list[int] = []
    for reader in deck.store._readers:
        await reader.run(lambda connection: connection.set_progress_handler(lambda: steps.append(1), 1))

    assert ["stays"] == await deck.texts("a")
    assert len(steps) < 1000
    assert 1 == (await deck.undo("a"))["undone"]
    assert [] == await deck.texts("a")


# --- change, revive


async def test_a_rename(deck: Deck) -> None:
    """The new name finds the agent, the old one nobody, at once and after it retired."""
    uid = (await deck.create("old", title="T"))["id"]
    reply = await deck.change("old", "new", tags={"k": "v"})
    with pytest.raises(ReelError, match="no agent old"):
        await deck.state("old")
    assert uid == (await deck.state("new")).profile.uid

    deck.registry.retire(keep=0)
    assert ("new", "T", {"k": "v"}) == (reply["name"], reply["title"], reply["tags"])
    assert ("new", "T", {"k": "v"}) == (await deck.state(uid)).profile[2:5]


async def test_a_rename_to_a_taken_name(deck: Deck) -> None:
    """It is refused, and nothing of the change happens."""
    await deck.create("a")
    await deck.create("b")
    with pytest.raises(Exists):
        await deck.change("a", "b", title="T")

    assert ("a", None, 1) == ((p := (await deck.state("a")).profile).name, p.title, p.head)


async def test_an_empty_title_removes_it(deck: Deck) -> None:
    """And a change of nothing is refused."""
    await deck.create("a", title="T")
    await deck.change("a", title="")

    assert None is (await deck.state("a")).profile.title
    with pytest.raises(InvalidParams, match="change needs"):
        await deck.change("a")


async def test_the_dead_can_be_revived(deck: Deck) -> None:
    """Its state is what it was; reviving the living writes nothing."""
    await deck.add("a", "one", create=True)
    await deck.kill("a")
    reply = await deck.revive("a")

    assert (True, 4, 4) == (reply["alive"], reply["head"], reply["command"])
    assert ["one"] == await deck.texts("a")
    assert "command" not in await deck.revive("a")
    assert 4 == (await deck.state("a")).profile.head


async def test_revive_when_the_name_is_taken(deck: Deck) -> None:
    """It is refused as long as a living agent has the name, and works when that one has another."""
    dead = (await deck.create("a"))["id"]
    await deck.kill("a")
    await deck.create("a")
    with pytest.raises(Exists):
        await deck.revive(dead)
    assert not (await deck.state(dead)).profile.alive

    await deck.change("a", "b")
    await deck.revive(dead)
    assert dead == (await deck.state("a")).profile.uid


ON_THE_DEAD: list[Act] = [
    lambda deck: deck.add("a", "x"),
    lambda deck: deck.mark("a"),
    lambda deck: deck.clear("a"),
    lambda deck: deck.rewind("a"),
    lambda deck: deck.restore("a", 1),
    lambda deck: deck.undo("a"),
    lambda deck: deck.redo("a"),
    lambda deck: deck.change("a", title="x"),
    lambda deck: deck.clone_into("b", "a"),
]


@pytest.mark.parametrize("act", ON_THE_DEAD)
async def test_the_dead_take_no_commands(deck: Deck, act: Act) -> None:
    """Each is refused as killed, and writes nothing; reading goes on."""
    await deck.create("b")
    await deck.add("a", "one", create=True)
    await deck.kill("a")

    with pytest.raises(Killed, match="agent a is dead"):
        await act(deck)
    assert 3 == (await deck.state("a")).profile.head
    assert (await deck.replay("a")).matched


# --- if_seq

WITH_IF_SEQ: list[Callable[[Deck, int], Awaitable[Any]]] = [
    lambda deck, seq: deck.add("a", "x", if_seq=seq),
    lambda deck, seq: deck.mark("a", if_seq=seq),
    lambda deck, seq: deck.clear("a", if_seq=seq),
    lambda deck, seq: deck.rewind("a", if_seq=seq),
    lambda deck, seq: deck.restore("a", 0, if_seq=seq),
    lambda deck, seq: deck.undo("a", if_seq=seq),
    lambda deck, seq: deck.change("a", title="T", if_seq=seq),
    lambda deck, seq: deck.kill("a", if_seq=seq),
    lambda deck, seq: deck.revive("a", if_seq=seq),
    lambda deck, seq: deck.clone("a", if_seq=seq),
    lambda deck, seq: deck.clone_into("b", "a", if_seq=seq),
]


@pytest.mark.parametrize("act", WITH_IF_SEQ)
async def test_a_command_given_in_ignorance(deck: Deck, act: Callable[[Deck, int], Awaitable[Any]]) -> None:
    """With another head in mind each command is refused with the head; with the right one it is carried out."""
    await deck.create("b")
    await deck.create("a")
    await deck.mark("a")
    await deck.add("a", "one")
    for wrong in (0, 2, 4):
        with pytest.raises(Conflict) as refused:
            await act(deck, wrong)
        assert {"head": 3} == refused.value.data

    await act(deck, 3)
    assert (await deck.replay("a")).matched


# --- replay


async def test_a_tampered_state_is_noticed_and_mended(deck: Deck, caplog: pytest.LogCaptureFixture) -> None:
    """A live list that is not what the log says is replaced, counted and reported; then all is well."""
    await deck.add("a", "one", "two", create=True)
    (await deck.state("a")).conversation.entries.pop()
    found = await deck.replay("a")

    assert (False, 2) == (found.matched, len(found.conversation.entries))
    assert ["one", "two"] == await deck.texts("a")
    assert (await deck.replay("a", strict=True)).matched
    assert "agent=a differed from its log and was replaced" in caplog.messages


@pytest.mark.parametrize("part", ["marks", "entries", "prompt", "open_calls"])
async def test_whatever_differs_is_noticed(deck: Deck, part: str) -> None:
    """Entries, marks, the prompt and the open calls are all compared."""
    await deck.create("a", "be brief")
    await deck.add("a", "one", CALL)
    await deck.mark("a")
    conversation = (await deck.state("a")).conversation
    if part == "prompt":
        conversation._prompts.clear()
    elif part == "open_calls":
        conversation.open_calls.close("c1")
    else:
        getattr(conversation, part).clear()

    assert not (await deck.replay("a")).matched
    assert (await deck.replay("a")).matched


async def test_a_strict_replay_names_the_first_bad_row(opened: Open, path: str) -> None:
    """A past with rows that mean nothing is read, with a list of them; strictly it is refused."""
    async with opened() as deck:
        await deck.add("a", "one", create=True)
    insert(path, 3, "tool_call", "broken")
    insert(path, 4, "brand_new", None)
    async with opened() as deck:
        found = await deck.replay("a")
        with pytest.raises(InvalidMessage, match="seq 3: data_json: no JSON") as refused:
            await deck.replay("a", strict=True)

    assert {"seq": 3, "field": "data_json"} == refused.value.data
    assert (True, [(3, "data_json"), (4, "kind")]) == (found.matched, [skip[:2] for skip in found.skipped])
