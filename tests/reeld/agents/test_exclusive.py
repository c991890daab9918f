"""Clear, rewind, restore, undo, redo, change, revive, replay: each command, alone and after the others."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from reel.base.errors import (
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
from tests.reeld.agents.direct_client import DirectClient, insert

Act: TypeAlias = Callable[[DirectClient], Awaitable[Any]]

CALL = {"kind": "tool_call", "content": "f()", "data_json": '{"tool_call_id":"c1","name":"f","arguments":""}'}
RESULT = {"kind": "tool_result", "content": "out", "data_json": '{"tool_call_id":"c1","output":"","success":true}'}


async def test_clear_restates_the_prompt(client: DirectClient) -> None:
    """Clear drops all entries and marks, restates the prompt, and replies with the seq to restore."""
    await client.create("a", "be brief")
    await client.add("a", "one")
    await client.mark("a", "m")
    reply = await client.clear("a")

    assert (4, 5, 6) == (reply["was"], reply["command"], reply["head"])
    assert ["be brief"] == await client.texts("a")
    await client.restore("a", reply["was"])
    assert ["be brief", "one", "[m]"] == await client.texts("a")


async def test_messages_replace_the_conversation_from_one_on(client: DirectClient) -> None:
    """Messages from a seq on take the place of what was there; one undo takes it back, and one redo gives it again."""
    await client.create("a")
    await client.add("a", "one", "two", CALL)
    await client.mark("a", "m")
    await client.add("a", "three")
    reply = await client.replace("a", 3, "other", RESULT)

    assert (7, 8, 9, 6, 3) == tuple(reply[name] for name in ("command", "first", "head", "was", "dropped"))
    assert [{"id": "c1", "seq": 9}] == reply["orphans"]
    assert ["one", "other", "out"] == await client.texts("a")
    assert 7 == (await client.undo("a"))["undone"]
    assert ["one", "two", "f()", "[m]", "three"] == await client.texts("a")
    await client.redo("a")
    assert ["one", "other", "out"] == await client.texts("a")


async def test_nothing_in_place_of_messages(client: DirectClient) -> None:
    """Without messages the conversation ends before the seq; a call that was answered after it is open again."""
    await client.create("a", "be brief")
    await client.add("a", CALL, RESULT)
    reply = await client.replace("a", 4)

    assert (0, 1, [{"id": "c1", "name": "f", "seq": 3}]) == (reply["first"], reply["dropped"], reply["open_calls"])
    assert 2 == (await client.replace("a", 2))["dropped"]
    assert [] == await client.texts("a")


async def test_a_clone_replaces_what_it_inherited(client: DirectClient) -> None:
    """A seq of the source's is one of the clone's conversation; the source keeps what it had."""
    await client.create("a")
    await client.add("a", "one", "two")
    await client.clone("a", "b")
    await client.replace("b", 2, "other")

    assert ["other"] == await client.texts("b")
    assert ["one", "two"] == await client.texts("a")


@pytest.mark.parametrize(("seq", "has"), [(1, "is 2"), (3, "is 2"), (4, "is 2"), (9, "is 2")])
async def test_only_a_live_message_can_be_replaced(client: DirectClient, seq: int, has: str) -> None:
    """A seq that no message of the current conversation has is refused, and nothing is written."""
    await client.create("a")
    await client.add("a", "one")
    await client.mark("a")
    await client.add("a", "gone")
    await client.undo("a")
    with pytest.raises(InvalidParams, match=f"from: {seq} is not in the current conversation of agent a; .* {has}"):
        await client.replace("a", seq, "other")

    assert 5 == (await client.state("a")).profile.head


async def test_a_replacement_waits_for_its_head_and_is_done_once(client: DirectClient) -> None:
    """``if_seq`` refuses it if the agent has moved on; under its key it is done once."""
    await client.create("a")
    await client.add("a", "one")
    with pytest.raises(Conflict):
        await client.replace("a", 2, "other", if_seq=1)
    first = await client.replace("a", 2, "other", key="k")

    assert {**first, "repeated": True} == await client.replace("a", 2, "other", key="k")
    assert ["other"] == await client.texts("a")


async def test_clear_forgets_a_prompt_that_was_removed(client: DirectClient) -> None:
    """If no prompt is in force, clear restates none."""
    await client.create("a", "be brief")
    await client.add("a", {"role": "system", "content": ""})
    await client.clear("a")

    assert [] == await client.texts("a")


async def test_rewind_to_a_mark_before_a_clear_is_refused(client: DirectClient) -> None:
    """A rewind to a mark from before a clear is refused, and writes nothing."""
    await client.create("a")
    await client.mark("a", "m")
    await client.clear("a")
    with pytest.raises(NoSuchMark) as refused:
        await client.rewind("a", "m")

    assert {"label": "m", "labels": []} == refused.value.data
    assert 3 == (await client.state("a")).profile.head


async def test_rewind_by_label_takes_the_newest(client: DirectClient) -> None:
    """Of two marks with one label the newest is taken; the mark stays, and everything after it is dropped."""
    await client.create("a")
    for text in ("one", "two"):
        await client.mark("a", "m")
        await client.add("a", text)
    reply = await client.rewind("a", "m")

    assert (4, 1, 5) == (reply["target"], reply["dropped"], reply["was"])
    assert ["[m]", "one", "[m]"] == await client.texts("a")


async def test_a_bare_rewind_walks_back(client: DirectClient) -> None:
    """Repeated bare rewinds go from mark to mark, and end when no mark has anything after it."""
    await client.create("a")
    for text in ("one", "two"):
        await client.mark("a")
        await client.add("a", text)
    await client.rewind("a")
    assert ["[]", "one", "[]"] == await client.texts("a")

    await client.rewind("a")
    assert ["[]"] == await client.texts("a")
    with pytest.raises(NoSuchMark):
        await client.rewind("a")


async def test_rewind_brings_an_older_prompt_back(client: DirectClient) -> None:
    """A prompt that was set after the mark is dropped by the rewind."""
    await client.create("a", "first")
    await client.mark("a")
    await client.add("a", {"role": "system", "content": "second"})
    await client.rewind("a")

    assert "first" == (await client.state("a")).conversation.system


@pytest.mark.parametrize(
    ("at", "expected"), [(0, []), (1, []), (2, ["1", "2", "3"]), (3, ["1", "2", "3"]), (4, ["1", "2", "3"])]
)
async def test_restore_inside_a_command_means_its_end(client: DirectClient, at: int, expected: list[str]) -> None:
    """A position inside what was written together means the end of it."""
    await client.create("a")
    await client.add("a", "1", "2", "3")
    await client.add("a", "4")
    await client.restore("a", at)

    assert expected == await client.texts("a")
    assert (await client.replay("a")).matched


@pytest.mark.parametrize("at", [-1, 3])
async def test_restore_to_where_the_agent_never_was(client: DirectClient, at: int) -> None:
    """Restore to a position that was never reached is refused, and writes nothing."""
    await client.create("a")
    await client.add("a", "1")

    with pytest.raises(InvalidParams, match="agent a has positions 0 to 2"):
        await client.restore("a", at)
    assert 2 == (await client.state("a")).profile.head


# --- undo and redo


async def into(client: DirectClient) -> None:
    """Replace the state by another agent's."""
    await client.create("other", "other prompt")
    await client.add("other", "x")
    await client.clone_into("other", "a")


COUNTING: list[Act] = [
    lambda client: client.add("a", "new", "and more"),
    lambda client: client.add("a", {"role": "system", "content": "new prompt"}),
    lambda client: client.add("a", CALL),
    lambda client: client.add("a", RESULT),
    lambda client: client.clear("a"),
    lambda client: client.mark("a", "new"),
    lambda client: client.rewind("a", "m"),
    lambda client: client.restore("a", 0),
    lambda client: client.restore("a", 7),
    into,
]
NAMES = ["add", "prompt", "call", "result", "clear", "mark", "rewind", "restore", "no_op", "into"]


async def fill(client: DirectClient) -> None:
    """Make an agent whose conversation has every kind of entry."""
    await client.create("a", "be brief")
    await client.add("a", "one", CALL)
    await client.mark("a", "m")
    await client.add("a", "two")
    await client.add("a", {"kind": "note", "content": "inert"})


@pytest.mark.parametrize("act", COUNTING, ids=NAMES)
async def test_undo_and_redo_of_every_kind(client: DirectClient, act: Act) -> None:
    """Undo brings back the state before any command, redo the one after it, and the log gives the same states."""
    await fill(client)
    before = await client.texts("a")
    await act(client)
    after = await client.texts("a")
    undone = await client.undo("a")
    assert before == await client.texts("a")
    assert (await client.replay("a")).matched

    redone = await client.redo("a")
    assert after == await client.texts("a")
    assert undone["undone"] == redone["redone"]
    assert (await client.replay("a")).matched
    client.registry.residency.evict_idle(keep=0)
    assert after == await client.texts("a")


async def test_undo_goes_back_to_the_first_state(client: DirectClient) -> None:
    """Each undo takes back one command; the prompt that came with create is never taken back."""
    await fill(client)
    for expected in (["be brief", "one", "f()", "[m]"], ["be brief", "one", "f()"], ["be brief"]):
        await client.undo("a")
        assert expected == await client.texts("a")

    with pytest.raises(NothingToUndo, match="agent a has nothing to undo: it is in its first state"):
        await client.undo("a")


async def test_redo_goes_forward_again(client: DirectClient) -> None:
    """Redo brings back undone commands one by one, also after a reload, until there is nothing left."""
    await fill(client)
    for _ in range(3):
        await client.undo("a")
    client.registry.residency.evict_idle(keep=0)
    for expected in (["be brief", "one", "f()"], ["be brief", "one", "f()", "[m]"]):
        await client.redo("a")
        assert expected == await client.texts("a")
    await client.redo("a")

    assert ["be brief", "one", "f()", "[m]", "two"] == await client.texts("a")
    with pytest.raises(NothingToUndo, match="agent a has nothing to redo"):
        await client.redo("a")


async def test_a_new_command_ends_the_chain_of_redos(client: DirectClient) -> None:
    """A new command ends the chain of redos; inert events do not."""
    await client.create("a")
    await client.add("a", "one")
    await client.undo("a")
    await client.add("a", {"kind": "note", "content": "inert"})
    await client.change("a", title="T")
    await client.redo("a")
    await client.undo("a")
    await client.add("a", "two")

    with pytest.raises(NothingToUndo):
        await client.redo("a")
    assert ["two"] == await client.texts("a")


async def test_an_undo_after_a_redo(client: DirectClient) -> None:
    """A command that was redone can be undone again, and so can the ones before it."""
    await client.create("a")
    await client.add("a", "one")
    await client.add("a", "two")
    for act in (client.undo, client.undo, client.redo, client.redo, client.undo):
        await act("a")
    assert ["one"] == await client.texts("a")

    assert 2 == (await client.undo("a"))["undone"]
    assert [] == await client.texts("a")


async def test_a_restore_that_reverses_an_undo_is_a_command_of_its_own(client: DirectClient) -> None:
    """Undoing a restore gives the undone state, not the one before the undo."""
    await client.create("a")
    await client.add("a", "one")
    was = (await client.undo("a"))["was"]
    await client.restore("a", was)
    assert ["one"] == await client.texts("a")

    await client.undo("a")
    assert [] == await client.texts("a")


async def test_messages_that_made_the_agent_can_be_undone(client: DirectClient) -> None:
    """Undo takes back what an add with ``create`` wrote, like any other command."""
    await client.add("a", "one", "two", create=True)
    undone = await client.undo("a")

    assert (1, 3) == (undone["undone"], undone["was"])
    assert [] == await client.texts("a")
    await client.redo("a")
    assert ["one", "two"] == await client.texts("a")


async def test_a_clone_cannot_undo_its_sources_commands(client: DirectClient) -> None:
    """Undo in a clone stops at the state that it was cloned from."""
    await client.create("a")
    await client.add("a", "one")
    await client.clone("a", "b")

    with pytest.raises(NothingToUndo):
        await client.undo("b")


@pytest.mark.slow
async def test_hundreds_of_undos_cost_nothing_to_load(client: DirectClient) -> None:
    """Loading reads the live path only, however much was done and undone around it."""
    await client.store._database.run(lambda connection: connection.execute("PRAGMA synchronous = OFF").fetchall())
    await client.add("a", "stays", create=True)
    for number in range(500):
        await client.add("a", str(number))
        await client.undo("a")
    client.registry.residency.evict_idle(keep=0)
    steps: list[int] = []
    for reader in client.store._readers:
        await reader.run(lambda connection: connection.set_progress_handler(lambda: steps.append(1), 1))

    assert ["stays"] == await client.texts("a")
    assert len(steps) < 1000
    assert 1 == (await client.undo("a"))["undone"]
    assert [] == await client.texts("a")


# --- change, revive


async def test_a_rename(client: DirectClient) -> None:
    """After a rename the new name finds the agent and the old one does not, at once and after eviction."""
    uid = (await client.create("old", title="T"))["id"]
    reply = await client.change("old", "new", tags={"k": "v"})
    with pytest.raises(ReelError, match="no agent old"):
        await client.state("old")
    assert uid == (await client.state("new")).profile.uid

    client.registry.residency.evict_idle(keep=0)
    assert ("new", "T", {"k": "v"}) == (reply["name"], reply["title"], reply["tags"])
    assert ("new", "T", {"k": "v"}) == (await client.state(uid)).profile[2:5]


async def test_a_rename_to_a_taken_name(client: DirectClient) -> None:
    """A rename to a taken name is refused, and no other change is applied."""
    await client.create("a")
    await client.create("b")
    with pytest.raises(Exists):
        await client.change("a", "b", title="T")

    assert ("a", None, 1) == ((p := (await client.state("a")).profile).name, p.title, p.head)


async def test_an_empty_title_removes_it(client: DirectClient) -> None:
    """An empty title removes it, and a change without any field is refused."""
    await client.create("a", title="T")
    await client.change("a", title="")

    assert None is (await client.state("a")).profile.title
    with pytest.raises(InvalidParams, match="change needs"):
        await client.change("a")


async def test_the_dead_can_be_revived(client: DirectClient) -> None:
    """A revived agent has the state that it had; reviving a live one writes nothing."""
    await client.add("a", "one", create=True)
    await client.kill("a")
    reply = await client.revive("a")

    assert (True, 4, 4) == (reply["alive"], reply["head"], reply["command"])
    assert ["one"] == await client.texts("a")
    assert "command" not in await client.revive("a")
    assert 4 == (await client.state("a")).profile.head


async def test_revive_when_the_name_is_taken(client: DirectClient) -> None:
    """Revive is refused as long as a live agent has the name, and works once that one is renamed."""
    dead = (await client.create("a"))["id"]
    await client.kill("a")
    await client.create("a")
    with pytest.raises(Exists):
        await client.revive(dead)
    assert not (await client.state(dead)).profile.alive

    await client.change("a", "b")
    await client.revive(dead)
    assert dead == (await client.state("a")).profile.uid


ON_THE_DEAD: list[Act] = [
    lambda client: client.add("a", "x"),
    lambda client: client.mark("a"),
    lambda client: client.clear("a"),
    lambda client: client.rewind("a"),
    lambda client: client.restore("a", 1),
    lambda client: client.undo("a"),
    lambda client: client.redo("a"),
    lambda client: client.change("a", title="x"),
    lambda client: client.clone_into("b", "a"),
]


@pytest.mark.parametrize("act", ON_THE_DEAD)
async def test_a_dead_agent_refuses_every_command(client: DirectClient, act: Act) -> None:
    """Every command to a dead agent is refused as killed and writes nothing; reads go on."""
    await client.create("b")
    await client.add("a", "one", create=True)
    await client.kill("a")

    with pytest.raises(Killed, match="agent a is killed"):
        await act(client)
    assert 3 == (await client.state("a")).profile.head
    assert (await client.replay("a")).matched


# --- if_seq

WITH_IF_SEQ: list[Callable[[DirectClient, int], Awaitable[Any]]] = [
    lambda client, seq: client.add("a", "x", if_seq=seq),
    lambda client, seq: client.mark("a", if_seq=seq),
    lambda client, seq: client.clear("a", if_seq=seq),
    lambda client, seq: client.rewind("a", if_seq=seq),
    lambda client, seq: client.restore("a", 0, if_seq=seq),
    lambda client, seq: client.undo("a", if_seq=seq),
    lambda client, seq: client.change("a", title="T", if_seq=seq),
    lambda client, seq: client.kill("a", if_seq=seq),
    lambda client, seq: client.revive("a", if_seq=seq),
    lambda client, seq: client.clone("a", if_seq=seq),
    lambda client, seq: client.clone_into("b", "a", if_seq=seq),
]


@pytest.mark.parametrize("act", WITH_IF_SEQ)
async def test_if_seq_of_every_command(
    client: DirectClient, act: Callable[[DirectClient, int], Awaitable[Any]]
) -> None:
    """With another head in ``if_seq`` each command is refused; with the right one it is applied."""
    await client.create("b")
    await client.create("a")
    await client.mark("a")
    await client.add("a", "one")
    for wrong in (0, 2, 4):
        with pytest.raises(Conflict) as refused:
            await act(client, wrong)
        assert {"head": 3} == refused.value.data

    await act(client, 3)
    assert (await client.replay("a")).matched


# --- replay


async def test_replay_repairs_a_wrong_live_state(client: DirectClient, caplog: pytest.LogCaptureFixture) -> None:
    """A live state that differs from the log is replaced, counted and reported; then both are equal."""
    await client.add("a", "one", "two", create=True)
    (await client.state("a")).conversation.entries.pop()
    found = await client.replay("a")

    assert (False, 2) == (found.matched, len(found.conversation.entries))
    assert ["one", "two"] == await client.texts("a")
    assert (await client.replay("a", strict=True)).matched
    assert "agent=a differed from its log and was replaced" in caplog.messages


@pytest.mark.parametrize("part", ["marks", "entries", "prompt", "open_calls"])
async def test_replay_compares_everything(client: DirectClient, part: str) -> None:
    """Replay compares the entries, the marks, the prompt and the open calls."""
    await client.create("a", "be brief")
    await client.add("a", "one", CALL)
    await client.mark("a")
    conversation = (await client.state("a")).conversation
    if part == "prompt":
        conversation._prompts.clear()
    elif part == "open_calls":
        conversation.open_calls.close("c1")
    else:
        getattr(conversation, part).clear()

    assert not (await client.replay("a")).matched
    assert (await client.replay("a")).matched


async def test_a_strict_replay_names_the_first_bad_row(opened: Open, path: str) -> None:
    """A log with invalid rows is read, and the rows are listed; with ``strict`` it is refused."""
    async with opened() as client:
        await client.add("a", "one", create=True)
    insert(path, 3, "tool_call", "broken")
    insert(path, 4, "brand_new", None)
    async with opened() as client:
        found = await client.replay("a")
        with pytest.raises(InvalidMessage, match="seq 3: data_json: not JSON") as refused:
            await client.replay("a", strict=True)

    assert {"seq": 3, "field": "data_json"} == refused.value.data
    assert (True, [(3, "data_json"), (4, "kind")]) == (found.matched, [skip[:2] for skip in found.skipped])
