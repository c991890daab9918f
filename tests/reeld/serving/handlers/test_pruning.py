"""What nothing can reach any more is pruned before a point, and all that can be reached stays as it was."""

import random
from pathlib import Path
from typing import Any

import anyio
import pytest

from reel.base.errors import InvalidParams
from reel.base.strict_json import encode
from reeld.serving.call import Services
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Connect, Peer, texts
from tests.reeld.serving.handlers.test_erasing import intact, logged


async def said_at(peer: Peer, agent: str, at: int) -> Any:
    """Return what the conversation and the values were at a seq, or why that is not known."""
    view = {"at": at, "view": "conversation"}
    shown, values = await peer.ask(("messages", agent, view), ("state", agent, {"at": at}))
    said = shown if isinstance(shown, Exception) else shown["conversation"]
    return str(said), str(values if isinstance(values, Exception) else values["values"])


def files(services: Services) -> list[bytes]:
    """Return the bytes of the database, and of its WAL."""
    return [Path(services.store.path + part).read_bytes() for part in ("", "-wal")]


async def replaced(peer: Peer, agent: str) -> int:
    """Make an agent whose first stretch was replaced by a summary; return the seq of the command that did it."""
    await peer.call("create", agent, "old prompt")  # 1, 2
    for number in range(50):
        await peer.call("add", agent, [f"plugh {number} " + "x" * 40_000])  # to 52
    call = {"type": "tool_call", "id": "c1", "name": "run", "arguments": '{"what": "plugh"}'}
    await peer.call("add", agent, [{"role": "assistant", "content": [call]}])
    await peer.call(
        "add", agent, [{"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c1", "content": ""}]}]
    )
    for value in ("plugh 1", "plugh 2", "kept"):
        await peer.call("add", agent, [{"kind": "state", "content": "key", "data_json": encode({"value": value})}])
    cleared = (await peer.call("clear", agent))["command"]
    await peer.call("add", agent, ["a summary", "and more"])
    return int(cleared)


async def test_what_was_replaced_goes(connect: Connect, services: Services) -> None:
    """It is in no file any more, the file is smaller, and all positions from the point on are as before."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        point = await replaced(peer, "a")
        head = (await peer.call("agent", "a"))["head"]
        before = [await said_at(peer, "a", at) for at in range(point, head + 1)]
        size = sum(map(len, files(services)))
        tried = await peer.call("prune", "a", {"before": point, "dry_run": True})
        assert any(b"plugh" in each for each in files(services))
        done = await peer.call("prune", "a", {"before": point})

        assert {**done, "head": head} == {**tried, "command": head + 1, "time": done["time"]}
        assert (54, 0, []) == (done["pruned"], done["kept"], done["heirs"])
        assert done["bytes"] > 1_950_000
        assert before == [await said_at(peer, "a", at) for at in range(point, head + 1)]
        assert not any(b"plugh" in each for each in files(services))
        assert sum(map(len, files(services))) < size - 1_500_000
        assert ["a summary", "and more"] == await texts(peer, "a")
        assert await intact(peer)
        again = await peer.call("prune", "a", {"before": point})
        assert (0, head + 1) == (again["pruned"], again["head"])


async def test_short_messages_give_room_back(connect: Connect, services: Services) -> None:
    """The file gets smaller although each message has a fraction of a page, and what stands between them stays."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("create", "a")
        await peer.call("create", "b")
        for number in range(6):
            await peer.call("add", "a", ["plugh " + "x" * 500] * 500)
            await peer.call("add", "b", [f"stays {number}"])
        await peer.call("clear", "a")
        done = await peer.call("prune", "a", {"before": 10_000})
        (database, _) = files(services)

        assert 3000 == done["pruned"]
        assert len(database) < 700_000  # 1.8 MB before
        assert [f"stays {number}" for number in range(6)] == await texts(peer, "b")
        assert not any(b"plugh" in each for each in files(services))
        assert await intact(peer)


@pytest.mark.parametrize("method", ["messages", "replay", "clone", "restore", "state", "render"])
async def test_a_pruned_state_is_refused(connect: Connect, method: str) -> None:
    """Whoever asks for a state that was pruned is told so, and nothing changes."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        point = await replaced(peer, "a")
        await peer.call("prune", "a", {"before": point})
        for at in [56] if method == "state" else (10, 53, 54, 57):
            format_ = {"format": "openai-chat"} if method == "render" else {}
            (refused,) = await peer.ask((method, "a", {"at": at, **format_}))
            assert isinstance(refused, InvalidParams)
            named = "at: the value of" if method == "state" else f"what the conversation was at #{at} cannot"
            assert str(refused).startswith(f"invalid_params: {named}")
            assert "cannot be brought back; it is [pruned 2" in str(refused)
        assert [] == (await peer.call("messages", "a", {"at": 0}))["messages"]


async def test_who_only_writes_a_marker(connect: Connect) -> None:
    """A message or a value that looks pruned is like any other, also in a log that was pruned before or is later."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("create", "a")
        await peer.call("add", "a", ["first"])
        await peer.call("clear", "a")
        for year in (2000, 3000):
            marker = f"[pruned {year}-01-01 00:00 UTC]"
            seq = (await peer.call("add", "a", [marker]))["first"]
            state = {"kind": "state", "content": "k", "data_json": encode({"value": marker})}
            await peer.call("add", "a", [state, "next"])
            await peer.call("prune", "a", {"before": seq})
            await peer.call("undo", "a")

            assert [marker] == (await texts(peer, "a"))[-1:]
            assert 1 == len((await peer.call("state", "a", {"at": seq + 1}))["values"])
            assert 1 <= (await peer.call("clone", "a", {"at": seq}))["messages"]


async def test_nothing_gained(connect: Connect) -> None:
    """A marker may be longer than what it replaces; then no bytes are gained, and none are lost."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("create", "a")
        await peer.call("add", "a", ["x"])
        await peer.call("clear", "a")
        done = await peer.call("prune", "a", {"before": 10})

        assert (1, 0) == (done["pruned"], done["bytes"])


async def test_an_undo_of_what_replaced(connect: Connect) -> None:
    """An undo goes back as far as there is something to go to."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        point = await replaced(peer, "a")
        await peer.call("prune", "a", {"before": point})
        await peer.call("undo", "a")
        (refused,) = await peer.ask(("undo", "a"))

        assert isinstance(refused, InvalidParams)
        assert [] == await texts(peer, "a")
        await peer.call("redo", "a")
        assert ["a summary", "and more"] == await texts(peer, "a")


async def test_what_is_reached_stays(connect: Connect) -> None:
    """Branches that a mark, a redo, a clone or its clone lead to stay, and what took a state over."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("create", "a")
        await peer.call("add", "a", ["base"])  # 2
        for number, how in enumerate(("nobody", "marked", "cloned", "taken", "killed", "purged")):
            await peer.call("restore", "a", 2)
            await peer.call("add", "a", [f"{how} 1", f"{how} 2"])
            state = {"kind": "state", "content": "key", "data_json": encode({"value": number})}
            await peer.call("add", "a", [state])
            if how == "marked":
                await peer.call("mark", "a", "m")
            elif how == "taken":
                await peer.call("create", "taken")
                await peer.call("clone", "a", {"into": "taken"})
            elif how != "nobody":
                await peer.call("clone", "a", how)
        await peer.call("clone", "purged", "heir")
        await peer.call("purge", "purged")
        await peer.call("kill", "killed")
        await peer.call("restore", "a", 2)
        await peer.call("add", "a", ["undone 1"])
        await peer.call("add", "a", ["undone 2"])
        await peer.call("undo", "a")
        await peer.call("undo", "a")
        agents = ("a", "cloned", "taken", "killed", "heir")
        before = [await texts(peer, agent) for agent in agents]
        values = [(await peer.call("state", agent))["values"] for agent in agents]
        done = await peer.call("prune", "a", {"before": 10_000})

        assert before == [await texts(peer, agent) for agent in agents]
        assert values == [(await peer.call("state", agent))["values"] for agent in agents]
        said = str(await logged(peer, "a"))
        assert "nobody" not in said
        assert all(f"{how} 2" in said for how in ("marked", "cloned", "taken", "killed", "purged", "undone"))
        names = [(await peer.call("agent", uid))["name"] for uid in done["heirs"]]
        assert {"cloned", "taken", "killed", "heir"} == set(names)
        assert 5 == done["pruned"]  # two messages, and three values that no clone began with
        await peer.call("redo", "a")
        await peer.call("redo", "a")
        assert ["base", "undone 1", "undone 2"] == await texts(peer, "a")
        assert await intact(peer)


async def test_copies_of_pruned_messages(connect: Connect) -> None:
    """A record for programs goes with the messages that name it, unless one that stays names it, or a clone has it."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        record = {"kind": "command", "data_json": encode({"mine": "a secret"})}
        await peer.call("add", "a", [record] * 4, {"create": True})  # 2 to 5

        def naming(*seqs: int) -> dict[str, Any]:
            return {"role": "user", "content": "Hi", "provider_metadata": {"item": {"copies": [*seqs]}}}

        await peer.call("add", "a", [naming(2, 3, 4)])
        await peer.call("clear", "a")
        await peer.call("add", "a", [naming(3)])
        await peer.call("add", "a", [naming(4)])
        await peer.call("prune", "a", {"before": 8})
        left = [data for kind, _, data in await logged(peer, "a") if kind == "command"]

        assert [False, True, True, True] == ["secret" in data for data in left]
        await peer.call("clone", "a", "copy")
        await peer.call("clear", "a")
        await peer.call("prune", "a", {"before": 100})
        assert 3 == str(await logged(peer, "a")).count("a secret")
        assert await intact(peer)


async def test_what_a_program_says(connect: Connect, services: Services) -> None:
    """What it says is left of its records is; copies then stay, and so do the states that it goes back to."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        record = {"kind": "command", "data_json": encode({"mine": "plugh", "é": "kept"})}
        await peer.call("add", "a", [record] * 3, {"create": True})  # 2 to 4
        named = {"role": "user", "content": "plover", "provider_metadata": {"item": {"copies": [4]}}}
        await peer.call("add", "a", ["a base", named])
        await peer.call("clear", "a")
        await peer.call("add", "a", ["a grue"])
        await peer.call("clear", "a")
        left = encode({"é": "kept"})
        said = {"keep": [6], "records": [[2, left], [3, encode({})]]}
        before = [await said_at(peer, "a", at) for at in (5, 6, 9)]
        tried = await peer.call("prune", "a", {"before": 100, **said, "dry_run": True})
        done = await peer.call("prune", "a", {"before": 100, **said})

        assert (3, 2) == (done["pruned"], done["kept"]) == (tried["pruned"], tried["kept"])
        assert done["bytes"] == tried["bytes"] > 0
        records = [data for kind, _, data in await logged(peer, "a") if kind == "command"]
        assert [left, "{}", record["data_json"]] == records
        assert before == [await said_at(peer, "a", at) for at in (5, 6, 9)]
        assert not any(b"a grue" in each for each in files(services))
        assert await intact(peer)
        assert 0 == (await peer.call("prune", "a", {"before": 100, **said}))["pruned"]
        await peer.call("prune", "a", {"before": 1, "records": [[4, "{}"]]})
        assert not any(b"plugh" in each for each in files(services))


async def test_records_that_a_clone_has(connect: Connect) -> None:
    """They stay as they are, and the reply names the clone."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        record = {"kind": "command", "data_json": encode({"mine": "plugh"})}
        await peer.call("add", "a", [record], {"create": True})
        await peer.call("clone", "a", "copy")
        await peer.call("add", "a", [record])
        done = await peer.call("prune", "a", {"before": 1, "records": [[2, "{}"], [3, "{}"]]})

        assert (1, 1) == (done["pruned"], done["kept"])
        assert [(await peer.call("agent", "copy"))["id"]] == done["heirs"]
        assert [record["data_json"], "{}"] == [data for kind, _, data in await logged(peer, "a") if kind == "command"]


async def test_positions_that_are_gone(connect: Connect) -> None:
    """Nothing leads there any more, in the agent and later clones; what was said can be read, and all else works."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        record = {"kind": "command", "data_json": encode({"mine": "plugh"})}
        await peer.call("add", "a", [record, "one"], {"create": True})  # 2, 3
        await peer.call("mark", "a", "m")  # 4
        await peer.call("add", "a", ["two", "three"])  # 5, 6
        await peer.call("clone", "a", "before")
        await peer.call("add", "a", [record])  # 7
        await peer.call("prune", "a", {"before": 1, "records": [[7, "{}"]], "gone": [[3, 4], [7, 7]]})  # 8
        await peer.call("add", "b", ["of another"], {"create": True})
        await peer.call("clone", "a", "later")
        to = encode({"to": 4})
        ways = [
            ("restore", {"at": 3}),
            ("restore", {"at": 7}),
            ("rewind", {"label": "m"}),
            ("add", {"messages": [], "from": 5}),
            ("clone", {"name": "c", "at": 4}),
            ("append", {"events": [{"kind": "restore", "data_json": to}]}),
            ("append", {"events": [{"kind": "rewind", "data_json": encode({"label": "m"})}]}),
        ]
        for agent in ("a", "later"):
            log = await logged(peer, agent)
            for method, given in ways if agent == "later" else [*ways, ("undo", {})]:
                (refused,) = await peer.ask((method, agent, given))
                assert "what a program kept beside the conversation at" in str(refused), (method, agent)
                assert log == await logged(peer, agent)
        assert ["one"] == [
            each["content"][0]["text"] for each in (await peer.call("messages", "a", {"at": 3}))["messages"]
        ]
        for agent in ("a", "later", "before"):
            await peer.call("add", agent, ["four"])
            await peer.call("undo", agent)
        await peer.call("restore", "a", 6)
        await peer.call("add", "a", ["five"], {"from": 5})
        await peer.call("rewind", "before", "m")
        await peer.call("undo", "before")
        await peer.call("restore", "before", 3)
        assert await intact(peer)


async def test_back_to_before_what_was_replaced(connect: Connect) -> None:
    """What stands in the place of another message leads back to where that one was added."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        record = {"kind": "command", "data_json": encode({"mine": "plugh"})}
        await peer.call("add", "a", ["one", record], {"create": True})  # 2, 3
        await peer.call("add", "a", ["two"])  # 4
        await peer.call("prune", "a", {"before": 1, "records": [[3, "{}"]], "gone": [[3, 3]]})  # 5
        for text in ("instead", "and again"):
            last = (await peer.call("messages", "a"))["messages"][-1]["seq"]
            await peer.call("add", "a", [text], {"from": last})
        last = (await peer.call("messages", "a"))["messages"][-1]["seq"]
        (refused,) = await peer.ask(("add", "a", {"messages": [], "from": last}))

        assert "what a program kept beside the conversation at #3" in str(refused)
        assert ["one", "and again"] == await texts(peer, "a")
        await peer.call("add", "a", ["three"])
        last = (await peer.call("messages", "a"))["messages"][-1]["seq"]
        await peer.call("add", "a", [], {"from": last})
        assert ["one", "and again"] == await texts(peer, "a")


async def test_positions_that_are_gone_alone(connect: Connect) -> None:
    """They are noted once, even if no record changes."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("add", "a", ["one", "two"], {"create": True})
        said = {"before": 1, "records": [], "gone": [[2, 2]]}
        first = await peer.call("prune", "a", said)
        again = await peer.call("prune", "a", said)

        assert first["command"] == again["head"]
        assert "command" not in again
        assert encode({"events": 0, "by": "prune", "gone": [[2, 2]]}) == (await logged(peer, "a"))[-1][2]
        assert await intact(peer)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"records": [[3, "{}"]]}, "records: the log has no command record with data at #3"),
        ({"records": [[2, '{"mine":"a secret "}']]}, "records: 1 bytes more than #2 has cannot be left of it"),
        ({"records": [[2, "[]"]]}, "records: what is left of #2: data_json: expected a JSON object, got a list"),
        ({"records": [[2, "{}"], [2, "{}"]]}, "records: #2 is named twice"),
        ({"records": [["2", "{}"]]}, "records: expected pairs of a seq and JSON, got a list"),
        ({"records": {}}, "records: expected a list of at most 65536 pairs of seq and JSON, got a map"),
        ({"keep": [0]}, "keep: must be between 1 and"),
        ({"gone": [[1, 5]]}, "gone: the log ends at 4, before 5"),
        ({"gone": [[2, 1]]}, "gone: expected pairs of a first and a last seq, got"),
        ({"gone": [[1]]}, "gone: expected pairs of a first and a last seq, got"),
        ({"gone": [[-1, 1]]}, "gone: must be between 0 and"),
        ({"gone": 5}, "gone: expected a list of at most 65536 pairs of seqs, got an integer"),
        ({"keep": 5}, "keep: expected a list of at most 65536 seqs, got an integer"),
    ],
)
async def test_what_a_program_may_not_say(connect: Connect, said: Any, why: str) -> None:
    """A record that is not there, or more than it has, is refused, and nothing changes."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        record = {"kind": "command", "data_json": encode({"mine": "a secret"})}
        await peer.call("add", "a", [record, "Hi"], {"create": True})
        await peer.call("clear", "a")
        (refused,) = await peer.ask(("prune", "a", {"before": 10, **said}))

        assert isinstance(refused, InvalidParams)
        assert why in str(refused)
        assert "pruned" not in str(await logged(peer, "a"))


async def test_by_time(connect: Connect) -> None:
    """A time stands for the first event from which on all are of it or later."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        point = await replaced(peer, "a")
        early = await peer.call("prune", "a", {"until": 1, "dry_run": True})
        late = await peer.call("prune", "a", {"until": 1 << 50, "dry_run": True})

        assert (1, 0) == (early["before"], early["pruned"])
        assert (point + 4, 54) == (late["before"], late["pruned"])
        for wrong in ({}, {"before": 3, "until": 4}):
            (refused,) = await peer.ask(("prune", "a", wrong))
            assert isinstance(refused, InvalidParams)


_STEPS = ("add", "add", "prompt", "clear", "mark", "restore", "undo", "redo", "clone", "into", "set", "prune")


@pytest.mark.parametrize("seed", range(3))
async def test_any_log(connect: Connect, seed: int) -> None:
    """After any prune, what every agent is, each position from the point on, each mark and each redo are as before."""
    peer = connect()
    chosen = random.Random(seed)
    names = ["a"]
    await peer.call("create", "a")
    for number in range(25):
        name, step = chosen.choice(names), chosen.choice(_STEPS)
        at = chosen.randrange((await peer.call("agent", name))["head"] + 1)
        match step:
            case "add":
                await peer.call("add", name, [f"word {number}"])
            case "prompt":
                await peer.call("add", name, [{"kind": "system", "content": f"prompt {number % 3}"}])
            case "set":
                value = {"kind": "state", "content": f"k{at % 2}", "data_json": encode({"value": number})}
                await peer.call("add", name, [value])
            case "clear" | "mark":
                await peer.call(step, name, *(["m"] if step == "mark" else []))
            case "undo" | "redo":
                await peer.ask((step, name))
            case "restore":
                await peer.ask((step, name, at))
            case "clone":
                (made,) = await peer.ask(("clone", name, {"name": f"c{number}", "at": at}))
                names += [] if isinstance(made, Exception) else [f"c{number}"]
            case "into":
                await peer.ask(("clone", name, {"into": chosen.choice(names), "at": at}))
            case "prune":
                await prune(peer, names, name, at + 1)
    for name in names:
        await prune(peer, names, name, 1000)
    assert await intact(peer)


async def prune(peer: Peer, names: list[str], name: str, before: int) -> None:
    """Prune an agent, and compare what can be reached before and after."""

    async def reached(each: str) -> list[Any]:
        about = found[each]
        # What a clone inherited is its source's.
        first = before if each == name else about.get("source", {"at": 0})["at"] + 1
        there = [await said_at(peer, each, at) for at in range(first, about["head"] + 1)]
        now = [await texts(peer, each), (await peer.call("state", each))["values"], about["marks"]]
        went = []
        if before % 2:  # to all redos, and back: there is something to redo afterwards as well
            while not isinstance((await peer.ask(("redo", each)))[0], Exception):
                went.append(await texts(peer, each))
            for _ in went:
                await peer.call("undo", each)
        else:
            for mark in about["marks"]:
                await peer.call("restore", each, about["head"])
                await peer.ask(("rewind", each, mark["label"]))
                went.append(await texts(peer, each))
            await peer.call("restore", each, about["head"])
        return [there, now, went]

    found = {each: await peer.call("agent", each) for each in names}
    was = [await reached(each) for each in names]
    await peer.call("prune", name, {"before": before})
    assert was == [await reached(each) for each in names]
