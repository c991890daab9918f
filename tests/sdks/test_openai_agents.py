"""A session of OpenAI's Agents SDK is an agent of the daemon: items come back as they were, whoever else writes."""

import asyncio
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, get_args

import pytest

import reel
from reel.base.errors import InvalidMessage, InvalidParams, Killed, NotRunning, TooLarge
from reel.base.strict_json import encode
from reel.base.values import Numeral
from reel.said.messages import TextBlock
from reel.sync.client import Client
from tests.daemon import Daemon, short_directory
from tests.sdks.examples import Json, variants

sdk = pytest.importorskip("agents", reason="openai-agents is not installed")

from agents import Model  # noqa: E402
from openai.types.responses import (  # noqa: E402
    ResponseInputItemParam,
    ResponseOutputMessage,
    ResponseOutputText,
)

from reel.integrations.openai_agents import ReelSession  # noqa: E402 - both need what may not be installed

HELLO: Json = {"role": "user", "content": "Hello?"}
CALL: Json = {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": '{"a": 1}', "id": "fc_1"}
RESULT: Json = {"type": "function_call_output", "call_id": "c1", "output": "A machine."}
_NUMBERS = count()
sdk.set_tracing_disabled(True)


@pytest.fixture
def session(daemon: Daemon) -> Iterator[ReelSession]:
    """A new session."""
    made = ReelSession(f"s-{next(_NUMBERS)}", socket=daemon.socket)
    yield made
    made.close()


def other(session: ReelSession, daemon: Daemon) -> ReelSession:
    """Return another session with the same id, with a connection of its own."""
    return ReelSession(session.session_id, socket=daemon.socket)


def test_it_is_a_session_of_the_sdk(session: ReelSession) -> None:
    """The SDK's own check accepts it; a new session is empty, and stays so if it is popped or cleared."""
    assert isinstance(session, sdk.memory.Session)
    assert [] == asyncio.run(session.get_items())
    assert asyncio.run(session.pop_item()) is None
    asyncio.run(session.clear_session())
    asyncio.run(session.add_items([]))
    assert [] == asyncio.run(session.get_items(3))


def test_every_item_type(session: ReelSession) -> None:
    """An item of every type that the SDK has, and of one that it does not have yet, comes back deeply equal."""
    items = [item for kind in get_args(ResponseInputItemParam) for item in variants(kind)]
    items.append({"type": "of_next_year", "deep": [{"x": 1.0, "y": None}]})
    items += [{**HELLO, "content": "half \ud800"}, {"type": "of_next_year", "half": "\ud800"}]
    assert len(items) > 33

    asyncio.run(session.add_items(items))

    assert asyncio.run(session.get_items()) == items


def test_newest_items(session: ReelSession) -> None:
    """A limit means the newest items; the settings have the default; 0 means none, and a negative one all."""
    items = [{"role": "user", "content": str(number)} for number in range(5)]
    asyncio.run(session.add_items(items))

    for limit, expected in ((2, items[3:]), (9, items), (20_000, items), (0, []), (-1, items)):
        assert asyncio.run(session.get_items(limit)) == expected
    session.session_settings = sdk.memory.SessionSettings(limit=1)
    assert asyncio.run(session.get_items()) == items[4:]


def test_newest_of_items_that_do_not_fit_on_a_page(session: ReelSession, daemon: Daemon) -> None:
    """The newest are read and popped, however long they are; nothing else is removed."""
    items = [{"role": "user", "content": f"{number} {'x' * 3_000_000}"} for number in range(4)]
    for item in items:
        asyncio.run(session.add_items([item]))
    reader = other(session, daemon)

    assert asyncio.run(reader.get_items(4)) == items
    assert [asyncio.run(reader.pop_item()) for _ in range(5)] == [*items[::-1], None]
    reader.close()


def test_newest_of_messages_that_do_not_fit_on_a_page(session: ReelSession, client: Client) -> None:
    """A message of others that is several items counts as such."""
    for number in range(4):
        text: TextBlock = {"type": "text", "text": f"{number} {'x' * 3_000_000}"}
        client.add(session.agent, {"role": "assistant", "content": [text, *two_calls()]}, create=True)
    items = asyncio.run(session.get_items())

    assert asyncio.run(session.get_items(4)) == items[-4:]


def test_pop_is_one_undoable_command(session: ReelSession, client: Client) -> None:
    """The newest item is returned and removed; one undo brings it back."""
    asyncio.run(session.add_items([HELLO, CALL, RESULT]))

    assert [RESULT, CALL] == [asyncio.run(session.pop_item()) for _ in range(2)]
    client.undo(session.agent)

    assert [HELLO, CALL] == asyncio.run(session.get_items())


def two_calls() -> list[Any]:
    return [{"type": "tool_call", "id": f"c{n}", "name": "look_up", "arguments": "{}"} for n in range(2)]


def test_pop_of_a_message_that_is_several_items(session: ReelSession, client: Client) -> None:
    """Of a message that somebody else wrote only the last item is popped."""
    client.add(session.agent, {"role": "assistant", "content": two_calls()}, create=True)
    before = asyncio.run(session.get_items())

    assert asyncio.run(session.pop_item()) == before[1]
    assert asyncio.run(session.get_items()) == before[:1]


def test_pops_in_a_row(session: ReelSession, daemon: Daemon, client: Client) -> None:
    """Each takes what is newest then, whatever others did since the one before."""
    asyncio.run(session.add_items([{"role": "user", "content": str(number)} for number in range(20)]))
    another = other(session, daemon)

    def pop() -> Any:
        item = asyncio.run(session.pop_item())
        return None if item is None else item["content"]

    assert ["19", "18"] == [pop(), pop()]
    asyncio.run(another.add_items([HELLO]))
    assert ["Hello?", "17"] == [pop(), pop()]
    client.undo(session.agent)
    assert ["17", "16"] == [pop(), pop()]
    client.kill(session.agent)
    with pytest.raises(Killed):
        pop()
    asyncio.run(session.get_items())
    client.create(session.agent)
    asyncio.run(another.add_items([HELLO, RESULT, {"role": "user", "content": "new"}]))
    another.close()
    assert "new" == pop()
    client.kill(session.agent)
    client.add_items(session.agent, [HELLO], "openai-responses", create=True)
    assert ["Hello?", None] == [pop(), pop()]


def test_pop_of_what_was_just_added(session: ReelSession) -> None:
    """It is one request: nothing has to be read."""
    asyncio.run(session.add_items([{**HELLO, "n": 1.0}, CALL]))
    before = requests_of(session)

    assert [{**CALL}, {**HELLO, "n": 1.0}] == [asyncio.run(session.pop_item()) for _ in range(2)]

    assert 2 == requests_of(session) - before
    assert asyncio.run(session.pop_item()) is None


def test_a_turn(session: ReelSession, client: Client) -> None:
    """A turn is one request, which adds: that nothing is new is seen without one, and what is new is read."""
    asyncio.run(session.add_items([HELLO]))
    asyncio.run(session.get_items())
    asyncio.run(session.get_items())
    before = requests_of(session)

    for _ in range(5):
        asyncio.run(session.add_items([HELLO]))
        asyncio.run(session.get_items())

    assert 5 == requests_of(session) - before
    assert [HELLO] * 6 == asyncio.run(session.get_items())
    assert [HELLO] * 2 == asyncio.run(session.get_items(2))
    client.add(session.agent, "new")
    assert [*[HELLO] * 6, {"role": "user", "content": "new"}] == asyncio.run(session.get_items())


def requests_of(session: ReelSession) -> int:
    """Return how many requests a session has sent."""

    def count(client: Client) -> int:
        assert client._connection is not None
        return client._connection._number

    return session._worker.run_here(count)


def test_pop_of_what_was_purged(session: ReelSession, client: Client) -> None:
    """It is gone."""
    asyncio.run(session.add_items([HELLO, CALL, RESULT]))
    asyncio.run(session.pop_item())
    client.purge(session.agent)

    assert asyncio.run(session.pop_item()) is None


class Parrot(Model):  # type: ignore[misc] # the SDK's types are not read
    """A model that keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def get_response(self, *_args: Any, **given: Any) -> Any:
        self.sent.append(given["input"])
        text = ResponseOutputText(text="Hi.", type="output_text", annotations=[])
        said = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return sdk.ModelResponse(output=[said], usage=sdk.Usage(), response_id=None)

    def stream_response(self, *_args: Any, **_more: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    "item",
    [
        {},
        {"type": {}, "call_id": "c1"},
        {"type": ["function_call"], "call_id": "c1", "name": 5},
        {"type": "function_call", "call_id": []},
        {"type": "function_call_output", "call_id": {"a": 1}, "output": 5},
        {"role": {}, "content": 5},
        {"type": None, "n": Numeral("9" * 5_000)},
    ],
)
def test_what_cannot_be_read(session: ReelSession, client: Client, item: Json) -> None:
    """Whatever others stored, a run goes on after it; an item whose type is not a string comes as its words."""
    client.add_items(session.agent, encode([item, HELLO]), "openai-responses", create=True)
    parrot = Parrot()

    asyncio.run(sdk.Runner.run(sdk.Agent("a", model=parrot), "Go on.", session=session))

    assert [HELLO["content"], "Go on."] == [each["content"] for each in parrot.sent[0][-2:]]
    first = asyncio.run(session.get_items())[0]
    assert first == (
        item if isinstance(item.get("type"), str | None) else {"role": "user", "content": json.dumps(item)}
    )
    assert 4 == len(asyncio.run(session.get_items()))


def test_what_is_added_between_a_call_and_its_result(session: ReelSession, client: Client) -> None:
    """It comes after the result, which most models want to follow its call; what the SDK added keeps its order."""
    note: Json = {"type": "message", "role": "assistant", "content": [], "id": "m1", "status": "completed"}
    asyncio.run(session.add_items([HELLO, CALL, note, {**CALL, "call_id": "c2"}]))
    assert 4 == len(asyncio.run(session.get_items()))
    client.add(session.agent, ["Hurry up.", reel.text("assistant", "Yes.")])
    asyncio.run(session.add_items([RESULT, {**RESULT, "call_id": "c2"}]))

    for found in (asyncio.run(session.get_items()), asyncio.run(session.get_items(7))[-8:]):
        kinds = [item.get("call_id") or str(item["content"]) for item in found]
        assert ["c1", "[]", "c2", "c1", "c2"] == kinds[-7:-2]
        assert "Hurry up." in kinds[-2]
        assert "Yes." in kinds[-1]
    assert {**RESULT, "call_id": "c2"} == asyncio.run(session.pop_item())


def test_what_is_known_of_messages_does_not_grow(session: ReelSession, client: Client) -> None:
    """Who added a message is asked once, and forgotten when the message is no longer read."""
    for _ in range(3):
        asyncio.run(session.add_items([CALL]))
        client.add(session.agent, "Hurry up.")
        asyncio.run(session.add_items([RESULT]))
        asyncio.run(session.get_items())
        asyncio.run(session.get_items())
        before = requests_of(session)
        asyncio.run(session.get_items())
        assert before == requests_of(session)
        asyncio.run(session.clear_session())

    assert 1 == len(session._is_added)


def test_what_a_clone_brings_between_a_call_and_its_result(session: ReelSession, client: Client) -> None:
    """It comes after the result, even if the session's own log has an item of the SDK with the same seq."""
    asyncio.run(session.add_items([HELLO, HELLO, HELLO, HELLO]))
    source = f"{session.agent}-source"
    client.add_items(source, [CALL, {**HELLO, "content": "in between"}, RESULT], "openai-responses", create=True)
    client.clone(source, into=session.agent)

    assert ["c1", "c1", None] == [item.get("call_id") for item in asyncio.run(session.get_items())]
    assert ["c1", "c1", None] == [item.get("call_id") for item in asyncio.run(session.get_items(3))]


def snapshot(session: ReelSession, limit: int, **more: Any) -> Any:
    return asyncio.run(session._get_compaction_snapshot(limit, **more))


def said(*words: str) -> list[Json]:
    return [{"role": "user", "content": text} for text in words]


@pytest.mark.parametrize(
    ("limit", "start", "old", "left"),
    [
        (10, 0, "", ["sum"]),
        (10, 2, "", ["a", "b", "sum"]),
        (2, 1, "", ["a", "b", "c", "sum"]),
        (2, 1, "a", ["b", "c", "sum"]),
        (2, 1, "ab", ["c", "sum"]),
        (2, 1, "b", ["a", "b", "c", "sum"]),
        (2, 0, "abcd", ["sum"]),
    ],
)
def test_a_compaction_is_one_undoable_command(
    session: ReelSession, client: Client, limit: int, start: int, old: str, left: list[str]
) -> None:
    """A summary takes the place of the last items, and what is too old goes with them; the other ones stay."""
    asyncio.run(session.add_items(said("a", "b", "c", "d")))
    found = snapshot(session, limit, prune_prefix=lambda item: item["content"] in old)
    assert said("a", "b", "c", "d")[-limit:] == found.items
    assert (limit >= 4) == found.complete

    assert asyncio.run(found.replace_suffix(start, said("sum")))

    assert said(*left) == asyncio.run(session.get_items())
    client.undo(session.agent)
    assert said("a", "b", "c", "d") == asyncio.run(session.get_items())


def test_a_compaction_of_a_message_that_is_several_items(session: ReelSession, client: Client) -> None:
    """Those of its items that come before the summary stay."""
    client.add(session.agent, {"role": "assistant", "content": two_calls()}, create=True)
    found = snapshot(session, 10)

    assert asyncio.run(found.replace_suffix(1, said("sum")))

    assert [*found.items[:1], *said("sum")] == asyncio.run(session.get_items())


def test_a_compaction_that_comes_too_late(session: ReelSession, client: Client) -> None:
    """Nothing is replaced if somebody has written meanwhile, or if there is nothing to replace."""
    asyncio.run(session.add_items([HELLO]))
    found = snapshot(session, 10)
    assert not asyncio.run(found.replace_suffix(1, said("sum")))
    client.add(session.agent, "Wait.")

    assert not asyncio.run(found.replace_suffix(0, said("sum")))

    assert 2 == len(asyncio.run(session.get_items()))


def test_what_others_add_during_a_compaction(session: ReelSession, client: Client) -> None:
    """It is no part of the summary, and comes after it; one undo brings everything back."""
    asyncio.run(session.add_items(said("a", "b")))

    async def compact() -> bool:
        items, is_all = await session._read_compaction_items(10)
        assert (said("a", "b"), True) == (items, is_all)
        client.add(session.agent, "late")
        return await session._atomic_replace_items(said("sum"))

    assert asyncio.run(compact())

    found = asyncio.run(session.get_items())
    assert said("sum") == found[:1]
    assert ["late"] == [item["content"] for item in found[1:]]
    client.undo(session.agent)
    assert ["a", "b", "late"] == [item["content"] for item in asyncio.run(session.get_items())]


def test_what_was_summarized_and_is_gone(session: ReelSession, client: Client) -> None:
    """A summary of what others have cleared meanwhile is not stored."""
    asyncio.run(session.add_items(said("a")))

    async def compact() -> bool:
        await session._read_compaction_items(None)
        client.clear(session.agent)
        client.add(session.agent, "new")
        return await session._atomic_replace_items(said("sum"))

    assert asyncio.run(compact())
    assert ["new"] == [item["content"] for item in asyncio.run(session.get_items())]


def test_a_compaction_of_which_the_session_was_not_asked(session: ReelSession, daemon: Daemon) -> None:
    """The SDK replaces the items by itself if it has not read them through the session, or a subclass shows others."""

    class Other(ReelSession):
        async def get_items(self, limit: int | None = None) -> list[Any]:
            return (await super().get_items(limit))[1:]

    async def compact(other: ReelSession) -> bool:
        await other._read_compaction_items(None)
        return await other._atomic_replace_items(said("sum"))

    assert not asyncio.run(session._atomic_replace_items(said("sum")))
    assert not asyncio.run(compact(session))  # there is nothing yet
    asyncio.run(session.add_items(said("a")))
    subclassed = Other(session.session_id, socket=daemon.socket)
    assert not asyncio.run(compact(subclassed))
    subclassed.close()


def test_a_compaction_that_the_sdk_has_to_do_by_itself(session: ReelSession, client: Client) -> None:
    """It does that if items are read in another order than they are stored in, or a subclass shows other ones."""

    class Other(ReelSession):
        async def get_items(self, limit: int | None = None) -> list[Any]:
            return (await super().get_items(limit))[1:]

    assert [] == snapshot(session, 10).items
    asyncio.run(session.add_items([CALL]))
    client.add(session.agent, "Hurry up.")
    asyncio.run(session.add_items([RESULT]))

    assert snapshot(session, 10) is None
    assert snapshot(Other("other"), 10) is None


def test_clear_keeps_the_log(session: ReelSession, client: Client) -> None:
    """A cleared session is empty, and one undo brings everything back."""
    asyncio.run(session.add_items([HELLO, CALL]))
    asyncio.run(session.clear_session())
    assert [] == asyncio.run(session.get_items())

    client.undo(session.agent)

    assert [HELLO, CALL] == asyncio.run(session.get_items())


def test_everybody_reads_the_same(session: ReelSession, client: Client) -> None:
    """What the SDK wrote is messages for everybody, and what an editor adds is read as an item."""
    asyncio.run(session.add_items([HELLO, CALL, RESULT]))
    assert ["user", "assistant", "tool"] == [message["role"] for message in client.iter_messages(session.agent)]

    client.add(session.agent, "And a reel?")

    assert asyncio.run(session.get_items(1))[0]["content"] in (
        "And a reel?",
        [{"type": "input_text", "text": "And a reel?"}],
    )


def test_two_writers(session: ReelSession, daemon: Daemon) -> None:
    """Of what two sessions with one id add and pop at once, nothing is lost or doubled."""
    both = (session, other(session, daemon))

    async def run() -> list[Any]:
        await asyncio.gather(
            *(
                one.add_items([{"role": "user", "content": f"{who}-{n}"}])
                for n in range(20)
                for who, one in enumerate(both)
            )
        )
        return list(await asyncio.gather(*(one.pop_item() for _ in range(10) for one in both)))

    popped = asyncio.run(run())
    left = asyncio.run(session.get_items())
    both[1].close()

    assert sorted(item["content"] for item in popped + left) == sorted(f"{w}-{n}" for n in range(20) for w in range(2))


def test_a_cancelled_call_is_done(session: ReelSession) -> None:
    """A call that is cancelled is carried out all the same, and the caller hears of the cancellation after that."""

    async def run() -> list[Any]:
        adding = asyncio.ensure_future(session.add_items([HELLO]))
        await asyncio.sleep(0)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        return await session.get_items()

    assert [HELLO] == asyncio.run(run())


def test_the_daemon_is_killed_and_restarted(session: ReelSession, daemon: Daemon) -> None:
    """Calls during a restart wait for it."""
    asyncio.run(session.add_items([HELLO]))
    daemon.process.kill()
    daemon.process.wait()

    async def run() -> None:
        adding = asyncio.ensure_future(session.add_items([CALL]))
        await asyncio.to_thread(daemon.start)
        await adding

    asyncio.run(run())

    assert [HELLO, CALL] == asyncio.run(session.get_items())


@pytest.mark.parametrize("session_id", ["x" * 10_000, "a\0b", "🎞 tape", "\ud800", "", "/etc/passwd", "01a2" * 8])
def test_an_id_that_is_not_a_name(session_id: str, daemon: Daemon, client: Client) -> None:
    """The agent's name is a hash of such an id, and a tag has the beginning of the id."""
    session = ReelSession(session_id, socket=daemon.socket)
    asyncio.run(session.add_items([HELLO]))
    session.close()

    tags = client.agent(session.agent).tags
    assert session.agent.startswith("sha256-")
    assert tags == {"session_id": session_id[:1024].replace("\0", "\ufffd").replace("\ud800", "\ufffd")}


def test_an_id_with_slashes(daemon: Daemon) -> None:
    """With a prefix it is a name; an id that looks like a hash is never the name of another session."""
    names = [ReelSession(name, socket=daemon.socket, prefix="p/").agent for name in ("a/b", "sha256-1", "\n")]

    assert "p/a/b" == names[0]
    assert [len(name) for name in names[1:]] == [len("p/sha256-") + 32] * 2


def test_interrupted_between_call_and_result(session: ReelSession, client: Client) -> None:
    """A session that ends with a call can be loaded, and goes on; the daemon says that the call is open."""
    asyncio.run(session.add_items([HELLO, CALL]))

    assert [HELLO, CALL] == asyncio.run(session.get_items())
    assert [("c1", "look_up")] == [(call.id, call.name) for call in client.open_calls(session.agent)]
    parrot = Parrot()
    asyncio.run(sdk.Runner.run(sdk.Agent("a", model=parrot), "Go on.", session=session))
    assert "Go on." == parrot.sent[0][-1]["content"]


def test_what_is_refused(session: ReelSession, client: Client) -> None:
    """What is no item, too large or no JSON, an id that is no text and a killed agent are refused; nothing is added."""
    with pytest.raises(InvalidMessage, match=r"items\[1\]"):
        asyncio.run(session.add_items([HELLO, 1]))
    with pytest.raises(InvalidMessage, match=r"items\[1\]"):
        asyncio.run(session.add_items([HELLO, {**HELLO, "n": float("nan")}]))
    with pytest.raises(TooLarge):
        asyncio.run(session.add_items([{"role": "user", "content": "x" * (17 << 20)}]))
    assert [] == asyncio.run(session.get_items())
    with pytest.raises(InvalidParams, match="session_id: expected a string, got a int"):
        ReelSession(1)  # type: ignore[arg-type]
    with pytest.raises(InvalidParams, match="prefix: "):
        ReelSession("s", prefix=" ")
    with pytest.raises(TypeError, match="limits"):
        ReelSession("s", session_settings={"limits": 1})
    client.create(session.agent)
    client.kill(session.agent)
    with pytest.raises(Killed):
        asyncio.run(session.add_items([HELLO]))


def test_no_daemon() -> None:
    """The error says that no daemon answers on the socket."""
    with pytest.raises(NotRunning, match="/nowhere"):
        asyncio.run(ReelSession("s", socket="/nowhere").get_items())


def test_a_backup_is_restored_before_a_pop(tmp_path: Path) -> None:
    """What was added is not in the backup, and others have written as much since: theirs is popped."""
    with short_directory() as directory:
        daemon = Daemon(directory).start()
        session = ReelSession("restored", socket=daemon.socket)
        asyncio.run(session.add_items([HELLO]))
        with daemon.client() as client:
            client.backup(str(tmp_path / "backup.db"))
        asyncio.run(session.add_items([{**HELLO, "content": "mine"}]))
        daemon.put_back(tmp_path / "backup.db")
        with daemon.client() as client:
            client.add("restored", "theirs")

        assert {"role": "user", "content": "theirs"} == asyncio.run(session.pop_item())
        session.close()
        daemon.close()
