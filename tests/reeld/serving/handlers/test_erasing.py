"""What is redacted or purged is gone for everybody, and all the rest stays as it was."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from reel.base.errors import Conflict, InvalidParams, NoSuchMark, NotFound, Storage
from reel.base.strict_json import encode
from reel.said.formats import FORMATS
from reel.wire.msgpack_codec import packer
from reeld.agents import erasing
from reeld.core.milestones import STEP
from reeld.core.redaction import Redaction
from reeld.serving.call import Services
from reeld.serving.erasing_chores import Holders
from reeld.store import erasing_backups, erasures, schema
from reeld.store.erasures import Order
from reeld.store.plans import carry_out
from reeld.store.redacting import Past, plan_redaction
from tests.patience import PATIENCE
from tests.reeld.remembered import remembered
from tests.reeld.serving.conftest import Connect, Peer, texts

# The agents that were purged and whose events others need, and all keys.
_LEFT = "SELECT uid FROM agents WHERE name = '' UNION ALL SELECT key FROM keys"


async def family(peer: Peer) -> None:
    """Make an agent, a clone of it, and one that took over the state of the clone."""
    await peer.call("create", "root", "be brief", {"title": "the secret"})
    await peer.call("add", "root", ["a secret", "undone secret"])  # 3, 4
    await peer.call("mark", "root", "secret")  # 5
    await peer.call("undo", "root")
    await peer.call("undo", "root")  # 7
    await peer.call("add", "root", ["b"])  # 8
    await peer.call("clone", "root", "copy")  # 9
    await peer.call("add", "copy", ["own"])
    await peer.call("create", "taker")
    await peer.call("clone", "copy", {"into": "taker"})
    await peer.call("add", "root", ["later"])  # 9 of root


async def intact(peer: Peer) -> bool:
    """Return whether a check finds nothing wrong, and every state is what its log says."""
    agents = (await peer.call("agents"))["agents"]
    matched = [(await peer.call("replay", agent["id"]))["matched"] for agent in agents]
    return all(matched) and (await peer.call("verify"))["problems"] == []


async def states(services: Services) -> list[Any]:
    """Return the states of all erasures."""
    return await services.store.read(lambda opened: opened.execute("SELECT state FROM erasures ORDER BY id").fetchall())


def has_secret(services: Services) -> bool:
    """Return whether the file or the WAL has what was said."""
    return any(b"a secret" in Path(services.store.path + part).read_bytes() for part in ("", "-wal"))


async def logged(peer: Peer, agent: str) -> list[tuple[str, Any, Any]]:
    """Return the kinds, the contents and the data of all events in the past of an agent."""
    page = await peer.call("history", agent, {"inherited": True})
    return [(event["kind"], event["content"], event["data_json"]) for event in page["events"]]


async def test_a_text_is_redacted_for_everybody(connect: Connect) -> None:
    """A text is gone from all that a clone inherited, and the reply names who is affected."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await family(peer)
        ids = {agent["name"]: agent["id"] for agent in (await peer.call("agents"))["agents"]}
        before = await peer.call("redact", "copy", {"text": "secret", "dry_run": True})
        reply = await peer.call("redact", "copy", {"text": "secret"})

        assert {**reply, "head": 10} == {**before, "command": reply["command"], "time": reply["time"]}
        assert set(reply["affected"]) == set(ids.values())
        assert [1, 3, 4, 5] == [place["seq"] for place in reply["events"]]
        for agent in ids:
            assert "secret" not in str(await logged(peer, agent))
        assert "secret" not in str(await peer.call("agents"))
        assert await intact(peer)


async def test_who_is_affected(connect: Connect) -> None:
    """Clones that were taken before what is redacted are not affected; those of a state that was taken over are."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("create", "root")
        for text in ("before", "secret"):
            await peer.call("add", "root", text)
        for name, at in (("early", 2), ("late", 3)):
            await peer.call("clone", "root", {"at": at, "name": name})
        await peer.call("clone", "late", {"into": "early"})
        await peer.call("clone", "early", {"at": 2, "name": "none"})
        await peer.call("clone", "early", "heir")
        reply = await peer.call("redact", "root", {"text": "secret"})
        names = {agent["id"]: agent["name"] for agent in (await peer.call("agents"))["agents"]}

        assert ["root", "early", "late", "heir"] == [names[uid] for uid in reply["affected"]]
        assert await intact(peer)


@pytest.mark.parametrize("taken", [False, True])
async def test_which_milestones_go(connect: Connect, services: Services, taken: bool) -> None:
    """Those go that count a changed event, of the agent and of those that have its past; those of all others stay."""

    async def milestones() -> set[str]:
        query = "SELECT DISTINCT a.name FROM milestones m JOIN events e ON e.id = m.id JOIN agents a ON a.id = e.agent"
        return {name for (name,) in await services.store.read(lambda opened: opened.execute(query).fetchall())}

    peer = connect()
    said = [f"word {number}" for number in range(STEP + 10)]
    for name in ("before", "a", "other"):
        await peer.call("create", name)
    await peer.call("add", "before", said)
    await peer.call("add", "a", ["Hi"])
    await peer.call("mark", "a", "about the secret")
    if taken:
        await peer.call("create", "heir")
        await peer.call("clone", "a", {"into": "heir"})
    else:
        await peer.call("clone", "a", "heir")
    for name in ("a", "heir", "other"):
        await peer.call("add", name, said)
    for name in ("before", "a", "heir", "other"):
        await peer.call("add", name, ["Bye"])
    before = await milestones()
    await peer.call("redact", "a", {"text": "secret"})  # those that are found again are written with the next command

    assert {"before", "a", "heir", "other"} == before
    assert {"before", "other"} == await milestones()


async def test_a_title_that_came_with_a_clone(connect: Connect) -> None:
    """A title that is in nobody's past but was copied is redacted in the clone, whoever of the two is named."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        for named in ("root", "copy"):
            await peer.call("create", "root")
            await peer.call("change", "root", {"title": "a secret", "tags": {"about": "secret"}})
            for name in ("copy", "plain"):
                await peer.call("clone", "root", {"at": 1, "name": name})
            await peer.call("change", "plain", {"title": "", "tags": {}})
            ids = {agent["name"]: agent["id"] for agent in (await peer.call("agents"))["agents"]}
            reply = await peer.call("redact", named, {"text": "secret"})

            assert "secret" not in str(await peer.call("agent", "copy"))
            assert (named == "copy") == ("secret" in str(await peer.call("agent", "root")))
            assert reply["affected"] == [ids[name] for name in ("root", "copy") if named in (name, "root")]
            assert await intact(peer)
            await peer.call("purge", "root", {"force": True})


async def test_going_back_over_what_was_redacted(connect: Connect) -> None:
    """What is restored or cloned has the marker in its place; a mark without its label is not found."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await family(peer)
        await peer.call("redact", "root", {"seqs": [3, 5]})
        await peer.call("restore", "root", 5)
        (refused,) = await peer.ask(("rewind", "root", "secret"))
        shown = await texts(peer, "root")
        await peer.call("clone", "root", {"at": 4, "name": "earlier"})

        assert isinstance(refused, NoSuchMark)
        assert shown[0].startswith("[redacted 20")
        assert ["undone secret"] == shown[1:]
        assert shown == await texts(peer, "earlier")
        assert await intact(peer)


async def test_a_prompt_that_was_repeated(connect: Connect) -> None:
    """A prompt that a clone's clear has repeated is redacted with the one that it was."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await family(peer)
        await peer.call("clear", "copy")
        await peer.call("redact", "root", {"seqs": [2]})

        assert (await peer.call("agent", "copy"))["system"].startswith("[redacted")
        assert "be brief" not in str(await logged(peer, "copy"))
        assert await intact(peer)


async def test_copies_of_a_message(connect: Connect) -> None:
    """Records for programs that a message names are redacted with it; a note that it names, and others, are not."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        record = {"kind": "command", "data_json": encode({"mine": "a secret"})}
        note = {"kind": "note", "content": "a secret too"}
        await peer.call("add", "a", [record, record, note], {"create": True})  # 2, 3, 4
        said = {"role": "user", "content": "a secret", "provider_metadata": {"item": {"copies": [2, 4, 99]}}}
        await peer.call("add", "a", [said])  # 5

        reply = await peer.call("redact", "a", {"seqs": [5]})

        assert [2, 5] == [event["seq"] for event in reply["events"]]
        log = (await peer.call("history", "a"))["events"]
        assert [3, 4] == [event["seq"] for event in log if "secret" in str(event)]
        assert await intact(peer)


async def test_later_copies_of_a_message(connect: Connect) -> None:
    """Records that say that they have a message again are redacted with it, in clones as well; nothing else is."""
    with anyio.fail_after(PATIENCE):
        peer = connect()

        def copy(*stretches: list[int]) -> Any:
            return {"kind": "command", "data_json": encode({"mine": {"words": "a secret", "copies_of": [*stretches]}})}

        await peer.call("add", "a", ["one"], {"create": True})  # 2
        await peer.call("add", "a", ["a secret", "three"])  # 3, 4
        await peer.call("clone", "a", "copy")  # 5
        await peer.call("add", "copy", [copy([2, 3]), copy([6, 9])])  # 6, 7
        await peer.call("clone", "a", "early", {"at": 2})
        await peer.call("add", "early", ["own", copy([3, 4])])  # its own #4 is another message
        note = {"kind": "note", "content": "a secret", "data_json": encode({"copies_of": [[3, 3]]})}
        await peer.call("add", "a", [copy([2, 2], [4, 4]), copy([2, 4]), copy([3, 3]), note, copy([0, 2])])  # 5 to 9
        tried = await peer.call("redact", "a", {"seqs": [3], "dry_run": True})
        reply = await peer.call("redact", "a", {"seqs": [3]})

        assert (
            [3, 6, 6, 7] == [event["seq"] for event in reply["events"]] == [event["seq"] for event in tried["events"]]
        )
        left = [event["seq"] for event in (await peer.call("history", "a"))["events"] if "secret" in str(event)]
        assert [5, 8, 9] == left
        assert [7] == [
            event["seq"] for event in (await peer.call("history", "copy"))["events"] if "secret" in str(event)
        ]
        assert 1 == str(await logged(peer, "early")).count("a secret")
        assert await intact(peer)


async def test_what_a_seq_names(connect: Connect) -> None:
    """A repeated prompt is redacted without the first one; a seq may be named again, in the same minute as well."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("create", "demo", "be brief")
        await peer.call("clear", "demo")
        first = await peer.call("redact", "demo", {"seqs": [4]})
        again = await peer.call("redact", "demo", {"seqs": [4]})

        assert (1, 0) == (first["redacted"], again["redacted"] * ("command" not in again))
        assert "be brief" in str(await logged(peer, "demo"))
        assert await intact(peer)


async def test_what_cannot_be_redacted(connect: Connect) -> None:
    """A seq without content, or neither seqs nor text, is refused; a text that is nowhere changes nothing."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await family(peer)
        outcomes = await peer.ask(
            ("redact", "root", {"seqs": [1]}), ("redact", "root"), ("redact", "root", {"text": "", "seqs": [3]})
        )
        nothing = await peer.call("redact", "root", {"text": "nowhere"})

        assert all(isinstance(outcome, InvalidParams) for outcome in outcomes)
        assert (0, "command" in nothing) == (nothing["redacted"], False)


async def test_what_is_redacted_is_not_remembered(connect: Connect) -> None:
    """No function keeps what it was asked about, and no pattern is kept."""
    peer = connect()
    reasoning = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "a secret"}], "id": "rs_1"}
    block = {"type": "opaque", "provider": "openai", "data_json": encode({**reasoning, "encrypted_content": "e"})}
    await peer.call("create", "demo")
    await peer.call("add", "demo", ["Hi", {"role": "assistant", "content": [block, {"type": "text", "text": "Ho"}]}])
    await peer.call("add", "demo", "go on")
    rendered = await peer.call("render", "demo", "openai-responses", {"model": "m"})
    assert "a secret" in rendered["body"]
    assert any("a secret" in text for text in remembered())
    await peer.call("redact", "demo", {"text": ["a secret"]})

    assert not [text for text in remembered() if "secret" in text]


async def test_a_redacted_conversation_is_rendered(connect: Connect) -> None:
    """A conversation of which everything was redacted can be sent in every format, with its calls and results."""
    call = {"type": "tool_call", "id": "secret-1", "name": "secret", "arguments": '{"a": "secret"}'}
    result = {"type": "tool_result", "tool_call_id": "secret-1", "content": "secret"}
    thought = {"type": "thinking", "text": "secret", "signature": "s", "provider": "anthropic"}
    with anyio.fail_after(PATIENCE):
        peer = connect()
        for name, asked in (("by-text", {"text": "secret"}), ("by-seq", {"seqs": [2, 3, 4, 5]})):
            await peer.call("create", name, "secret")
            await peer.call("add", name, ["secret", {"role": "assistant", "content": [thought, call]}])
            await peer.call("add", name, [{"role": "tool", "content": [result]}])
            await peer.call("redact", name, asked)
            for each in FORMATS:
                rendered = await peer.call("render", name, each, {"model": "m"})
                assert rendered["ready"]
                assert "redacted" in rendered["body"]
                assert ("secret" in rendered["body"]) is (name == "by-seq")  # the name and the id of the tool


async def test_followers_hear_of_it(connect: Connect) -> None:
    """Subscribers of every affected agent get a reset."""
    with anyio.fail_after(PATIENCE):
        peer, other = connect(), connect()
        await family(peer)
        await other.call("subscribe", "copy")
        await other.pushed()
        await peer.call("draft", "copy", "a secret draft")
        await peer.call("redact", "root", {"text": "secret"})
        names = [name for name, _ in await other.pushed()]
        await peer.call("purge", "copy")

        assert "reset" in names
        assert ("reset" in [name for name, _ in await other.pushed()]) is True


async def test_a_killed_agent_is_redacted(connect: Connect) -> None:
    """A killed agent may be redacted, and stays killed."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await family(peer)
        await peer.call("kill", "root", "secret reason")
        await peer.call("redact", "root", {"text": "secret"})

        assert not (await peer.call("agent", "root"))["alive"]
        assert await intact(peer)


async def test_what_a_clone_needs_stays(connect: Connect) -> None:
    """A purge leaves what clones inherited, and says so; it goes with the last of them."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await family(peer)
        before = [await texts(peer, agent) for agent in ("copy", "taker")]
        reply = await peer.call("purge", "root")
        (refused,) = await peer.ask(("agent", reply["agent"]))
        await peer.call("restore", "copy", 4)

        assert (1, 8, 1) == (reply["events"], reply["kept"], len(reply["heirs"]))
        assert [2, 2] == [(await peer.call(method))["agents"] for method in ("verify", "stats")]
        assert isinstance(refused, NotFound)
        assert before[1] == await texts(peer, "taker")
        assert ["a secret", "undone secret"] == await texts(peer, "copy")
        assert await intact(peer)
        purged = await peer.call("purge", "copy")
        assert before[1] == await texts(peer, "taker")
        assert (1, 1) == (purged["kept"], len(purged["heirs"]))
        assert await intact(peer)
        assert 0 == (await peer.call("purge", "taker"))["kept"]
        assert 0 == (await peer.call("stats"))["agents"]


async def test_who_is_an_heir(connect: Connect) -> None:
    """Heirs are those who have something of what is purged now: not of what was purged before, and not of nothing."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await family(peer)
        await peer.call("clone", "root", {"at": 0, "name": "empty"})
        await peer.call("clone", "copy", {"at": 4, "name": "early"})
        await peer.call("clone", "root", {"into": "empty"})
        await peer.call("clone", "root", {"at": 0, "name": "nothing"})
        await peer.call("create", "other")
        ids = {agent["name"]: agent["id"] for agent in (await peer.call("agents"))["agents"]}
        heirs = {
            name: (await peer.call("purge", name, {"dry_run": True}))["heirs"] for name in ("root", "copy", "other")
        }
        await peer.call("purge", "root")
        later = await peer.call("purge", "other")

        assert heirs["root"] == [ids["copy"], ids["empty"], ids["early"]]
        assert heirs["copy"] == [ids["taker"]]
        assert [] == heirs["other"]
        assert (1, 0, []) == (later["events"], later["kept"], later["heirs"])
        assert await intact(peer)


@pytest.mark.parametrize(("how", "left"), [("cascade", ["taker"]), ("force", ["taker"]), (None, ["copy", "taker"])])
async def test_clones_are_purged_with_it(connect: Connect, how: str | None, left: list[str]) -> None:
    """With cascade killed clones go too, with force all; a dry run says so and changes nothing."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await family(peer)
        if how == "cascade":
            await peer.call("kill", "copy")
        options = {} if how is None else {how: True}
        tried = await peer.call("purge", "root", {**options, "dry_run": True})
        reply = await peer.call("purge", "root", options)

        assert {**tried, "time": reply["time"]} == reply
        assert left == [agent["name"] for agent in (await peer.call("agents"))["agents"]]
        assert await intact(peer)


async def test_several_are_purged_at_once(connect: Connect) -> None:
    """More agents go in the same command, each with the clones that are wanted, and nobody needs what they shared."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await family(peer)
        for name in ("other", "kept"):
            await peer.call("create", name)
            await peer.call("add", name, ["a secret"])
        await peer.call("clone", "other", "of-other")
        ids = {agent["name"]: agent["id"] for agent in (await peer.call("agents"))["agents"]}
        gone = {"root", "copy", "taker", "other"}

        with pytest.raises(NotFound, match="nobody"):
            await peer.call("purge", "root", {"also": ["copy", "nobody"]})
        tried = await peer.call("purge", "root", {"also": ["copy", "taker", "other"], "dry_run": True})
        reply = await peer.call("purge", "root", {"also": ["copy", ids["taker"], "other", "other", "root"]})

        assert {ids[name] for name in gone} == set(tried["purged"]) == set(reply["purged"])
        assert ([ids["of-other"]], len(ids) - len(gone)) == (reply["heirs"], len((await peer.call("agents"))["agents"]))
        with pytest.raises(NotFound, match=ids["root"]):
            await peer.call("purge", ids["root"], {"also": ["kept"]})
        await peer.call("purge", "kept", {"also": [ids["of-other"]], "force": True})
        assert [] == (await peer.call("agents"))["agents"]
        assert await intact(peer)


async def test_what_waits_for_a_purged_agent(connect: Connect) -> None:
    """Commands that come while an agent is purged are refused, and its name is free."""
    with anyio.fail_after(PATIENCE):
        peer, other = connect(), connect()
        await family(peer)
        await other.send(other.encoded(("purge", "root")))
        outcomes = await peer.ask(*[("add", "root", "x")] * 3)
        await other.answer(1)
        made = await peer.call("create", "root")

        assert {type(outcome) for outcome in outcomes} <= {dict, NotFound}
        assert 0 == made["messages"]
        assert await intact(peer)


async def backed_up(peer: Peer, path: Path) -> bytes:
    """Write a backup, and return what is in the file."""
    await peer.call("backup", str(path))
    return await anyio.Path(path).read_bytes()


async def test_named_backups(connect: Connect, tmp_path: Path) -> None:
    """What is redacted or purged is gone from the backups that are named, and they are sound."""
    with anyio.fail_after(PATIENCE):
        peer, path = connect(), tmp_path / "b.db"
        await family(peer)
        assert b"secret" in await backed_up(peer, path)
        redacted = await peer.call("redact", "copy", {"text": "secret", "backups": [str(path)]})
        after = await anyio.Path(path).read_bytes()
        await peer.call("kill", "taker")
        purged = await peer.call("purge", "root", {"force": True, "backups": [str(path)]})

        assert redacted["backups"] == [{"path": str(path), "events": 4}]
        assert b"secret" not in after
        assert purged["backups"][0]["events"] > 0
    with closing(sqlite3.connect(path)) as connection:
        assert [("ok",)] == connection.execute("PRAGMA integrity_check").fetchall()
        assert [("taker",)] == connection.execute("SELECT name FROM agents WHERE name <> ''").fetchall()


async def test_a_backup_that_does_not_know_of_a_clone(connect: Connect, tmp_path: Path) -> None:
    """What an agent took over since is gone from the backup as well, also if the agent is not in it."""
    with anyio.fail_after(PATIENCE):
        peer, path = connect(), tmp_path / "b.db"
        await peer.call("create", "origin", "a secret")
        await backed_up(peer, path)
        await peer.call("create", "taker")
        await peer.call("clone", "origin", {"into": "taker"})
        await peer.call("redact", "taker", {"text": "secret"})
        reply = await peer.call("redact", "taker", {"seqs": [2], "backups": [str(path)]})

        assert reply["backups"] == [{"path": str(path), "events": 1}]
        assert b"secret" not in await anyio.Path(path).read_bytes()


async def test_a_purged_agent_in_a_backup(connect: Connect, tmp_path: Path) -> None:
    """An agent that is gone is purged from backups by its id, with its clones there; else it is not found."""
    with anyio.fail_after(PATIENCE):
        peer, path = connect(), tmp_path / "b.db"
        await family(peer)
        await backed_up(peer, path)
        done = await peer.call("purge", "root", {"force": True, "key": "k"})
        gone, backups = done["agent"], [str(path)]
        refused = await peer.ask(
            ("purge", gone), ("purge", "root", {"backups": backups}), ("purge", "0" * 32, {"backups": backups})
        )
        tried = await peer.call("purge", gone, {"backups": backups, "force": True, "dry_run": True})
        assert b"secret" in await anyio.Path(path).read_bytes()
        await peer.call("purge", "taker")
        reply = await peer.call("purge", gone, {"backups": backups, "force": True})
        again = await peer.call("purge", gone, {"backups": backups, "force": True})

        assert all(isinstance(outcome, NotFound) for outcome in refused)
        assert ([], 0) == (tried["purged"], tried["events"])
        assert (8, 0) == (reply["backups"][0]["events"], again["backups"][0]["events"])
        assert b"secret" not in await anyio.Path(path).read_bytes()
        assert {**done, "repeated": True} == await peer.call("purge", "root", {"force": True, "key": "k"})
        assert await intact(peer)


@pytest.mark.parametrize("change", ["reply = x'80'", "agent = 'x'", "newest = newest + 1", "method = 'redact'"])
async def test_a_damaged_erasure(connect: Connect, services: Services, change: str) -> None:
    """It is found, and a purge under its key is refused: whether it was carried out is unknown."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await family(peer)
        await peer.call("purge", "root", {"force": True, "key": "k"})
        await services.store._database.run(lambda connection: connection.execute(f"UPDATE erasures SET {change}"))
        (refused,) = await peer.ask(("purge", "root", {"force": True, "key": "k"}))
        problems = (await peer.call("verify"))["problems"]

    assert "what is stored of the key k is damaged" in str(refused)
    assert "erasure" in [problem["what"] for problem in problems]


async def test_what_a_killed_restore_left(connect: Connect, services: Services, caplog: Any) -> None:
    """The copy that a killed restore left goes with an erasure; if it cannot be removed, that is logged."""
    place = anyio.Path(services.store.path).parent / f".reel-restore-{Path(services.store.path).name}"
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await family(peer)
        await place.mkdir()
        await (place / "part").write_text("a secret")
        await peer.call("redact", "root", {"text": "secret"})
        assert not await place.exists()
        await place.write_text("a file")
        await peer.call("purge", "root")
        await place.unlink()

    assert "what is left of a restore cannot be removed" in caplog.text


async def test_what_is_no_backup(connect: Connect, tmp_path: Path) -> None:
    """A file that is missing, or not a backup, is refused before anything changes."""
    with anyio.fail_after(PATIENCE):
        peer, other = connect(), tmp_path / "other"
        await family(peer)
        other.write_bytes(b"x" * 5000)
        for path in (str(other), str(tmp_path / "missing")):
            (refused,) = await peer.ask(("purge", "root", {"backups": [path]}))
            assert isinstance(refused, InvalidParams)
        assert 3 == len((await peer.call("agents"))["agents"])
        assert await intact(peer)


@pytest.mark.parametrize("asked", [{"seqs": [2]}, {"text": "secret"}])
async def test_the_reason_of_a_cascade(connect: Connect, asked: dict[str, Any]) -> None:
    """The reason of a kill goes from all clones that it killed, but not one that a clone was given by itself."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("create", "root")
        for source, name in (("root", "a"), ("a", "b"), ("root", "own")):
            await peer.call("clone", source, name)
        await peer.call("kill", "own", "its own secret")
        await peer.call("kill", "root", "a secret", {"cascade": True})
        told = await peer.call("redact", "root", asked)
        left = [name for name in ("root", "a", "b", "own") if "secret" in str(await logged(peer, name))]

        assert (3, ["own"]) == (told["redacted"], left)
        assert await intact(peer)


async def test_a_former_name(connect: Connect, services: Services) -> None:
    """A name that an agent no longer has goes from everywhere; a command that was sent to it is still repeated."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("create", "root")
        sent: list[tuple[Any, ...]] = [
            ("create", "secret-one", {"key": "k1"}),
            ("add", "secret-one", "a", {"key": "k2"}),
            ("clone", "root", "secret-two", {"key": "k3"}),
            ("add", "secret-two", "b", {"key": "k4"}),
            ("create", "secret-three", {"key": "k5"}),
            ("purge", "secret-three", {"key": "k6"}),
        ]
        first = [await peer.call(*call) for call in sent]
        for name in ("one", "two"):
            await peer.call("change", f"secret-{name}", name)
            await peer.call("redact", name, {"text": "secret"})
        again = [await peer.call(*call) for call in sent if call[0] != "create"]
        file = await anyio.Path(services.store.path).read_bytes()

        assert b"secret" not in file
        kept = [first[1], {**first[2], "name": "redacted"}, first[3], first[5]]
        assert [{**reply, "repeated": True} for reply in kept] == again
        assert await intact(peer)


async def test_a_reply_keeps_its_form(connect: Connect) -> None:
    """What a text has in common with the fields, the seqs and the ids of a stored reply does not count."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("create", "one", "first 2 results")
        sent: list[tuple[Any, ...]] = [
            ("add", "one", "a", {"key": "k1"}),
            ("commit", {"parts": [{"method": "add", "agent": "one", "messages": "b"}], "key": "k2"}),
            ("change", "one", {"tags": {"first": "2"}, "key": "k3"}),
        ]
        added, committed, changed = [await peer.call(*call) for call in sent]
        await peer.call("redact", "one", {"text": ["first", "2", "results", *"0123456789abcdef"]})
        again = [await peer.call(*call) for call in sent]

        assert [{**reply, "repeated": True} for reply in (added, committed)] == again[:2]
        assert {*changed, "repeated"} == {*again[2]}
        assert changed["head"] == again[2]["head"]


@pytest.mark.parametrize("asked", [{"seqs": [2, 3]}, {"text": "secret"}])
async def test_a_backup_of_another_database(connect: Connect, tmp_path: Path, asked: dict[str, Any]) -> None:
    """A redaction leaves a backup alone that has other agents in the place of the agent and of what it took over."""
    with anyio.fail_after(PATIENCE):
        peer, path = connect(), tmp_path / "b.db"
        for name in ("origin", "taker"):
            await peer.call("create", name, "a secret", {"title": "secret"})
            await peer.call("add", name, "secret")
        await peer.call("clone", "origin", {"into": "taker"})
        await backed_up(peer, path)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE agents SET uid = replace(uid, substr(uid, 1, 8), 'ffffffff')")
        before = await anyio.Path(path).read_bytes()
        reply = await peer.call("redact", "taker", {**asked, "backups": [str(path)]})

        assert reply["redacted"] > 1
        assert [{"path": str(path), "events": 0}] == reply["backups"]
        assert before == await anyio.Path(path).read_bytes()


async def test_a_backup_from_before_an_older_one_was_restored(connect: Connect, tmp_path: Path) -> None:
    """What a backup has under the seq of a redacted event, but was written after their ways had parted, stays."""
    with anyio.fail_after(PATIENCE):
        peer, path = connect(), tmp_path / "b.db"
        await peer.call("create", "root", "a secret")
        await peer.call("add", "root", ["the other way"])
        await backed_up(peer, path)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("DROP TRIGGER events_are_never_changed")
            connection.execute("UPDATE events SET time = time - 1 WHERE seq = 3")
        reply = await peer.call("redact", "root", {"seqs": [2, 3], "backups": [str(path)]})
        content = await anyio.Path(path).read_bytes()

        assert [{"path": str(path), "events": 1}] == reply["backups"]
        assert (False, True) == (b"secret" in content, b"the other way" in content)


async def test_a_refused_erasure_changes_no_backup(connect: Connect, tmp_path: Path) -> None:
    """If one of several backups is refused, or the key is, the other backups stay as they were."""
    with anyio.fail_after(PATIENCE):
        peer, path = connect(), tmp_path / "b.db"
        await peer.call("create", "root", "a secret")
        await peer.call("add", "root", "b", {"key": "k"})
        before = await backed_up(peer, path)
        both = {"backups": [str(path), str(tmp_path / "missing")]}
        purged = (await peer.call("create", "gone"))["id"]
        await peer.call("purge", purged)
        refused = await peer.ask(
            ("redact", "root", {"text": "secret", **both}),
            ("redact", "root", {"text": "secret", "backups": [str(path)], "key": "k"}),
            ("purge", "root", both),
            ("purge", purged, both),
        )

        assert [InvalidParams, Conflict, InvalidParams, InvalidParams] == [type(outcome) for outcome in refused]
        assert before == await anyio.Path(path).read_bytes()


async def test_a_backup_is_finished_at_the_start(connect: Connect, tmp_path: Path) -> None:
    """What was decided in a backup when the daemon was killed is carried through at the next start."""
    with anyio.fail_after(PATIENCE):
        peer, path = connect(), tmp_path / "b.db"
        await family(peer)
        await backed_up(peer, path)
    order = Order("redact", "a", None, 1)
    with closing(erasing_backups._open(str(path))) as connection:
        past = Past(1, dict(connection.execute("SELECT id, uid FROM agents")), [(1, 1 << 40)], [], {})
        planned = carry_out(plan_redaction(past, Redaction("now", b"k", ["secret"])), connection)
        number = erasures.begin(connection, order)
        erasures.stage(connection, list(planned.changes))
        erasures.decide(connection.cursor(), planned.decision(number), 1, packer())
    with closing(sqlite3.connect(tmp_path / "r.db", isolation_level=None)) as connection:
        schema.migrate(connection, schema.MIGRATIONS)
        erasures.begin(connection, order, json.dumps([str(path), "/missing"]))
        erasing_backups.finish_in_backups(connection, str(tmp_path / "r.db"))

    assert b"secret" not in path.read_bytes()


async def test_the_form_of_an_item_goes_with_its_messages(connect: Connect) -> None:
    """What only the form of an item says is gone as well, also if another message of the item is redacted."""
    item = {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "done"},
            {"type": "text", "text": "secret", "beside": ["secret", 1]},
        ],
    }
    with anyio.fail_after(PATIENCE):
        for asked in ({"seqs": [3]}, {"text": "secret"}):
            peer = connect()
            name = next(iter(asked))
            await peer.call("add", {"agent": name, "create": True, "items": [item], "format": "anthropic"})
            before = await peer.call("messages", {"agent": name, "format": "anthropic"})
            await peer.call("redact", name, asked)
            assert "secret" in str(before)
            read = await peer.call("messages", {"agent": name, "format": "anthropic"})

            assert "secret" not in str(await logged(peer, name)) + str(read)
            assert "done" in read["items"][0]["item_json"]
            assert await intact(peer)


async def test_items_that_were_read_before_are_erased(connect: Connect) -> None:
    """What a redaction removes is not read any more, also not in the words in which it was read before."""
    peer = connect()
    with anyio.fail_after(PATIENCE):
        for name, text in (("one", "a secret"), ("two", "another")):
            await peer.call("add", {"agent": name, "create": True, "messages": [text, "the rest"]})
            await peer.call("messages", {"agent": name, "format": "openai-chat"})
        await peer.call("redact", "one", {"text": "secret"})
        read = str(await peer.call("messages", {"agent": "one", "format": "openai-chat"}))

        assert "secret" not in read
        assert "the rest" in read


async def test_an_earlier_state_that_was_read_before_is_erased(connect: Connect) -> None:
    """What a redaction removes is not read any more, also not in a state that has been left since."""
    peer = connect()
    with anyio.fail_after(PATIENCE):
        await peer.call("add", {"agent": "one", "create": True, "messages": ["begin", "a secret", "the rest"]})
        head = (await peer.call("agent", {"agent": "one"}))["head"]
        await peer.call("clear", "one")
        await peer.call("add", "one", "anew")
        earlier = {"agent": "one", "at": head, "limit": 2}
        assert "secret" in str(await peer.call("messages", earlier))
        await peer.call("redact", "one", {"text": "secret"})
        read = str(await peer.call("messages", {**earlier, "limit": 3}))

        assert "secret" not in read
        assert "the rest" in read


async def test_a_clone_of_one_that_took_over(connect: Connect) -> None:
    """What an agent took over and its clone inherited is redacted in the clone, whoever of them is named."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        for named in ("origin", "heir"):
            await peer.call("create", "origin", "a secret")
            await peer.call("create", "taker")
            await peer.call("clone", "origin", {"into": "taker"})
            await peer.call("restore", "taker", 0)
            await peer.call("clone", "taker", "heir")
            await peer.call("restore", "heir", 3)
            await peer.call("clear", "heir")
            await peer.call("redact", named, {"text": "secret"})

            assert "secret" not in str([await peer.call("agent", name) for name in ("origin", "heir", "taker")])
            assert await intact(peer)
            await peer.call("purge", "taker", {"force": True})
            await peer.call("purge", "origin")


async def test_a_prompt_that_is_redacted_where_it_was_repeated(connect: Connect) -> None:
    """A prompt that another agent took over is redacted there; what it was before stays, and nothing is wrong."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("create", "origin")
        await peer.call("add", "origin", [{"role": "system", "content": "a secret"}])
        await peer.call("clear", "origin")
        await peer.call("create", "taker")
        await peer.call("clone", "origin", {"into": "taker"})
        await peer.call("redact", "taker", {"text": "secret"})
        await peer.call("restore", "origin", 2)

        assert "a secret" == (await peer.call("agent", "origin"))["system"]
        assert await intact(peer)


async def test_an_erasure_that_could_not_be_applied(connect: Connect, services: Services) -> None:
    """It is completed as soon as that is possible; then no conversation in memory and no page has it any more."""
    store, rest = services.store, Holders(services)
    broken = "CREATE TRIGGER broken BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'broken'); END"
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("add", {"agent": "one", "create": True, "messages": ["a secret"]})
        await peer.call("clone", "one", "heir")
        await store._database.run(lambda opened: opened.execute(broken))
        with pytest.raises(Storage, match="could not all be overwritten: broken"):
            await peer.call("redact", "one", {"text": "secret"})
        await store.housekeeping.attempt("completing an erasure", partial(erasing.complete, services.registry, rest))
        stats = await peer.call("stats")
        with pytest.raises(Storage, match="nothing was erased: one before it is not complete"):
            await peer.call("purge", "heir")
        await store._database.run(lambda opened: opened.execute("DROP TRIGGER broken"))
        await erasing.complete(services.registry, rest)

        assert "something is to be erased, and could not all be overwritten: broken" == stats["erasing_problem"]
        assert stats["housekeeping_problem"] is None  # it would say the same
        assert "secret" not in str([await peer.call("messages", name) for name in ("one", "heir")])
        assert (await peer.call("stats"))["erasing_problem"] is None
        assert ([("done",)], False) == (await states(services), has_secret(services))
        assert await intact(peer)
        await peer.call("purge", "one", {"force": True})


@pytest.mark.parametrize(
    ("step", "erase", "left"),
    [
        ("UPDATE OF head ON agents WHEN old.name = ''", ("redact", "heir", {"text": "secret"}), 2),
        ("DELETE ON keys", ("purge", "heir"), 0),
        ("DELETE ON agents", ("purge", "heir"), 0),
    ],
)
async def test_an_erasure_that_changed_the_log_and_no_more(
    connect: Connect, services: Services, step: str, erase: tuple[Any, ...], left: int
) -> None:
    """If a step after the events fails, it is completed as well: memory, keys and agents forget, then it is done."""
    store, rest = services.store, Holders(services)
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("add", {"agent": "root", "create": True, "messages": ["a secret"]})
        await peer.call("clone", "root", "heir")
        await peer.call("add", "heir", "b", {"key": "k"})
        await peer.call("purge", "root")
        broken = f"CREATE TRIGGER broken BEFORE {step} BEGIN SELECT RAISE(ABORT, 'broken'); END"
        await store._database.run(lambda opened: opened.execute(broken))
        with pytest.raises(Storage, match="could not all be overwritten: broken"):
            await peer.call(*erase)
        await store._database.run(lambda opened: opened.execute("DROP TRIGGER broken"))
        await erasing.complete(services.registry, rest)

        agents = (await peer.call("agents"))["agents"]
        assert "secret" not in str([await peer.call("messages", agent["id"]) for agent in agents])
        assert ([("done",)] * 2, False) == (await states(services), has_secret(services))
        assert left == len(await store.read(lambda opened: opened.execute(_LEFT).fetchall()))
        assert await intact(peer)


async def test_an_erasure_after_which_nothing_can_be_read(connect: Connect, services: Services) -> None:
    """As long as an agent in memory cannot be read again, the erasure is not complete, whoever applied it."""
    store, rest = services.store, Holders(services)

    async def interrupt(when: Callable[[], bool] | None) -> None:
        for reader in store._readers:
            await reader.run(lambda opened: opened.set_progress_handler(when, 1))

    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("add", {"agent": "one", "create": True, "messages": ["a secret"]})
        await interrupt(lambda: store.eraser.applied > 0)
        with pytest.raises(Storage, match="cannot be read: interrupted"):
            await peer.call("redact", "one", {"text": "secret"})
        problem = store.eraser.problem
        with pytest.raises(Storage, match="cannot be read: interrupted"):
            await erasing.complete(services.registry, rest)
        await interrupt(None)
        await erasing.complete(services.registry, rest)

        assert "something is to be erased, and could not all be overwritten" == problem
        assert "secret" not in str(await peer.call("messages", "one"))
        assert (None, [("done",)], False) == (store.eraser.problem, await states(services), has_secret(services))
        assert await intact(peer)
