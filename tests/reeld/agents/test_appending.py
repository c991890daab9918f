"""A stretch of a log that is appended as it is: the same events as those that the commands of the log have written."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reel.base.errors import Conflict, InvalidMessage, Killed, ReelError
from tests.reeld.agents.conftest import Open
from tests.reeld.agents.direct_client import DirectClient
from tests.thoroughness import SHARED

_COPIED = ("seq", "command", "kind", "content", "data_json", "ref", "sent")


def said(text: str, **more: Any) -> dict[str, Any]:
    """Return a user's message."""
    return {"role": "user", "content": text, **more}


def move(kind: str, data_json: str | None = None, **more: Any) -> dict[str, Any]:
    """Return an event that is not a row."""
    return {"kind": kind, "data_json": data_json, **more}


def as_stretch(events: list[Any]) -> list[dict[str, Any]]:
    """Return events of a log as a client appends them."""
    fields = ("kind", "content", "data_json", "command", "sent", "ref")
    return [
        {field: event[field] for field in fields if event.get(field) is not None}
        | {"parent": event["parent"]["seq"] if event["parent"] else 0}
        for event in events
    ]


def copied(events: list[Any]) -> list[Any]:
    """Return what a copy of a log has in common with it."""
    return [([event.get(field) for field in _COPIED], event["parent"] and event["parent"]["seq"]) for event in events]


async def commands_of(client: DirectClient, name: str) -> list[list[Any]]:
    """Return the events of each command of an agent's log, without the one that created it."""
    commands: dict[int, list[Any]] = {}
    for event in (await client.events(name))[1:]:
        commands.setdefault(event["command"], []).append(event)
    return list(commands.values())


_WORDS = st.sampled_from(["one", "two", "three"])
_FRACTION = st.floats(0, 1)
_DONE = st.one_of(
    st.tuples(st.just("add"), st.lists(_WORDS, min_size=1, max_size=3)),
    st.tuples(st.just("note"), _WORDS),
    st.tuples(st.just("replace"), _FRACTION),
    st.tuples(st.sampled_from(["mark", "rewind"]), st.sampled_from([None, "m", "n"])),
    st.tuples(st.just("restore"), _FRACTION),
    st.tuples(st.sampled_from(["undo", "undo", "redo", "clear"]), st.none()),
    st.tuples(st.just("change"), _WORDS),
)


async def carry_out(client: DirectClient, name: str, what: str, how: Any) -> None:
    """Carry out a command on an agent."""
    state = await client.state(name)
    match what:
        case "add":
            await client.add(name, *how)
        case "note":
            await client.add(name, {"kind": "note", "content": how, "sent": 5})
        case "replace" if state.conversation.entries:
            entries = state.conversation.entries
            await client.replace(name, entries[int(how * (len(entries) - 1))].seq, "instead")
        case "mark":
            await client.mark(name, how)
        case "rewind":
            await client.rewind(name, how)
        case "restore":
            await client.restore(name, round(how * state.profile.head))
        case "undo":
            await client.undo(name)
        case "redo":
            await client.redo(name)
        case "clear":
            await client.clear(name)
        case "change":
            await client.change(name, title=how, tags={"t": how})


@settings(suppress_health_check=SHARED)
@given(done=st.lists(_DONE, max_size=25), sizes=st.lists(st.integers(1, 12), min_size=1, max_size=5))
async def test_a_log_that_is_appended_as_it_is_is_the_same_log(
    opened: Open, done: list[tuple[str, Any]], sizes: list[int]
) -> None:
    """Whatever was done, and however its commands are cut into stretches: events, parents and conversation agree."""
    async with opened() as client:
        one, two = (await client.create())["name"], (await client.create())["name"]
        for what, how in done:
            try:
                await carry_out(client, one, what, how)
            except ReelError:  # there is no such mark, or nothing to undo
                continue
        waiting, number = await commands_of(client, one), 0
        while waiting:
            size, number = sizes[number % len(sizes)], number + 1
            now, waiting = waiting[:size], waiting[size:]
            reply = await client.append(two, *as_stretch([event for command in now for event in command]))

            assert now[-1][-1]["seq"] == reply["head"]
            assert (await client.replay(two)).matched
        assert copied((await client.events(one))[1:]) == copied((await client.events(two))[1:])
        assert await client.texts(one) == await client.texts(two)


async def test_a_stretch_goes_back_beyond_what_is_in_memory(client: DirectClient) -> None:
    """What an agent has in memory does not matter: a stretch leaves the long past, comes back, and leaves again."""
    await client.create("a")
    await client.append("a", *(said(f"{number}") for number in range(1500)))
    (await client.registry.find("a")).shrink()
    reply = await client.append(
        "a",
        move("restore", '{"to":11}'),
        said("after 11"),
        move("restore", '{"to":1490}'),
        move("restore", '{"to":1503}'),
        said("still"),
        move("rewind", '{"before":5}'),
    )

    assert 1507 == reply["head"]
    assert ["0", "1", "2"] == await client.texts("a")
    assert (await client.replay("a")).matched
    await client.undo("a")
    assert [*map(str, range(10)), "after 11", "still"] == await client.texts("a")


async def test_each_command_of_a_stretch_is_one_undo(client: DirectClient) -> None:
    """Events with one number are one command; an event without one is a command of its own."""
    await client.create("a")
    await client.append("a", said("1", command=7), said("2", command=7), said("3", command=2), said("4"), said("5"))

    assert [2, 2, 4, 5, 6] == [event["command"] for event in (await client.events("a"))[1:]]
    for left in (["1", "2", "3", "4"], ["1", "2", "3"], ["1", "2"], []):
        await client.undo("a")
        assert left == await client.texts("a")


async def test_a_restore_into_a_command_of_the_stretch_goes_to_its_end(client: DirectClient) -> None:
    """As it does with one that was written before: a command is never in parts."""
    await client.create("a")
    await client.append("a", said("1", command=1), said("2", command=1), said("3"), move("restore", '{"to":2}'))

    assert ["1", "2"] == await client.texts("a")
    assert {"to": 3} == json.loads((await client.events("a"))[-1]["data_json"])


async def test_names_come_back_in_a_stretch(client: DirectClient) -> None:
    """A name that the agent had before in the stretch is its own, through deaths too."""
    await client.create("a")
    names = [move("changed", f'{{"name":"{name}"}}') for name in ("b", "a", "b", "a")]
    deaths = [move("agent_killed"), move("revived")] * 2
    await client.append("a", *names, *deaths, move("agent_killed"))
    await client.append("a", move("revived"), *deaths, *names, *deaths)

    assert ("a", True) == ((await client.state("a")).profile.name, (await client.state("a")).profile.alive)


@pytest.mark.parametrize(
    ("event", "field", "why"),
    [
        ("words", "kind", "expected a message or a record"),
        ({"kind": "clone"}, "kind", "'clone' has a command of its own"),
        ({"kind": "created"}, "kind", "'created' has a command of its own"),
        ({"kind": "party"}, "kind", "'party' is unknown"),
        ({"role": "user", "content": 7}, "content", "expected"),
        (said("x", seq=4), "seq", "the daemon sets it"),
        (said("x", time=4), "time", "the daemon sets it"),
        (said("x", client="c"), "client", "the daemon sets it"),
        (said("x", sent=-1), "sent", "expected milliseconds"),
        (said("x", command="1"), "command", "expected a seq"),
        (said("x", parent=2), "parent", "the conversation is at 3 there, not at 2"),
        (said("x", parent=0), "parent", "the conversation is at 3 there, not at 0"),
        (said("x", parent=99), "parent", "the conversation is at 3 there, not at 99"),
        (said("x", ref="known"), "ref", "event 2 has 'known' already"),
        (said("x", ref="first"), "ref", "events[0] has 'first' already"),
        ({"kind": "state", "content": ""}, "content", "expected a key"),
        ({"kind": "state", "content": "k", "if_seq": 1}, "if_seq", "a record has no such field"),
        (move("mark", '{"label":"m","more":1}'), "data_json.more", "no such field"),
        (move("mark", "[]"), "data_json", "expected"),
        (move("mark", content="x"), "content", "a mark has none"),
        (move("rewind", '{"label":"m"}'), "data_json.label", "has not a mark m there"),
        (move("rewind", "{}"), "data_json.label", "has not a mark that something follows"),
        (move("rewind", '{"before":1}'), "data_json.before", "1 is not in the conversation there"),
        (move("rewind", '{"before":4}'), "data_json.before", "4 is not in the conversation there"),
        (move("restore", '{"to":4}'), "data_json.to", "expected a seq from 0 to 3, got 4"),
        (move("restore"), "data_json.to", "expected a seq from 0 to 3, got None"),
        (move("restore", '{"undoes":2}'), "data_json.undoes", "what an undo takes back is 3 there"),
        (move("restore", '{"undoes":3,"to":1}'), "data_json.to", "that is 2 there, not 1"),
        (move("restore", '{"redoes":2}'), "data_json.redoes", "what a redo brings back is nothing there"),
        (move("changed"), "data_json", "expected a name, a title or tags"),
        (move("changed", '{"name":"-"}'), "data_json.name", "a name is"),
        (move("revived"), "kind", "the agent is alive there"),
        (move("clear", command=1), "command", "'clear' begins a command"),
    ],
)
async def test_what_cannot_be_there_is_refused_before_anything_changes(
    client: DirectClient, event: Any, field: str, why: str
) -> None:
    """The error has the index of the event and the field, and nothing of the stretch is written."""
    await client.create("a")
    await client.append("a", said("there", ref="known"))
    with pytest.raises(InvalidMessage, match=r"events\[1\]\.") as refused:
        await client.append("a", said("first", ref="first", command=1), event)

    assert (1, field) == (refused.value.data["index"], refused.value.data["field"])
    assert why in refused.value.message
    assert (2, ["there"]) == ((await client.state("a")).profile.head, await client.texts("a"))


async def test_what_follows_a_mark_in_its_command_is_refused(client: DirectClient) -> None:
    """A mark is a command by itself."""
    await client.create("a")
    with pytest.raises(InvalidMessage, match="'mark' is a command by itself"):
        await client.append("a", move("mark", command=3), said("x", command=3))


async def test_an_agent_is_renamed_killed_and_revived_in_a_stretch(client: DirectClient) -> None:
    """What the agent is called and whether it lives is as after the commands of the stretch; others see it at once."""
    await client.create("a")
    await client.create("taken")
    with pytest.raises(InvalidMessage, match=r"events\[1\]\.data_json\.name: agent taken exists already"):
        await client.append("a", said("x"), move("changed", '{"name":"taken"}'))
    with pytest.raises(InvalidMessage, match=r"events\[1\]\.kind: the agent is killed there"):
        await client.append("a", move("agent_killed"), said("x"))
    await client.append("a", move("changed", '{"name":"b","title":"B"}'), move("agent_killed", '{"reason":"why"}'))
    with pytest.raises(Killed):
        await client.append("b", said("x"))
    await client.append("b", move("revived"), said("x"), move("changed", '{"title":null}'))
    profile = (await client.state("b")).profile

    assert ("b", None, True) == (profile.name, profile.title, profile.alive)
    assert ["x"] == await client.texts("b")


async def test_a_stretch_is_expected_where_it_was_read(client: DirectClient) -> None:
    """With another head nothing is written; under its key it is written once."""
    await client.create("a")
    with pytest.raises(Conflict):
        await client.append("a", said("x"), if_seq=2)
    first = await client.append("a", said("x"), said("y"), if_seq=1, key="k")

    assert {**first, "repeated": True} == await client.append("a", said("x"), said("y"), if_seq=1, key="k")
    with pytest.raises(Conflict):
        await client.append("a", said("z"), key="k")
    assert ["x", "y"] == await client.texts("a")


async def test_events_that_are_not_messages_keep_their_time_and_reference(client: DirectClient) -> None:
    """An old clear or title does not make the conversation new, and is found by its reference."""
    await client.create("a")
    reply = await client.append(
        "a", said("x", sent=5), move("clear", sent=6, ref="c"), move("changed", '{"title":"t"}')
    )
    (_, _, clear, _) = await client.events("a")

    assert (6, "c", reply["time"]) == (clear["sent"], clear["ref"], clear["time"])
    assert 6 == (await client.state("a")).profile.updated


async def test_what_a_stretch_leaves_behind_is_summarized(client: DirectClient) -> None:
    """A long conversation that the stretch itself clears can be restored without reading all of it."""
    await client.create("a")
    await client.append("a", *(said(f"{number}") for number in range(700)), move("clear"))
    await client.add("a", "after")  # a milestone is written with the next commit
    kept = await client.store.read(lambda connection: connection.execute("SELECT count(*) FROM milestones").fetchone())

    assert (1,) == tuple(kept)
    await client.undo("a")
    await client.undo("a")
    assert 700 == (await client.state("a")).conversation.message_count
