"""Subscriptions to lines, over a connection: whatever happens, the pushes make the conversation."""

import json
import random
from typing import Any

import anyio
import pytest

from reel.base.errors import InvalidParams, NotFound, ReelError, TooLarge
from reeld.serving import line_sheet, line_view
from reeld.serving.call import Services
from reeld.serving.flow import Limits
from reeld.serving.handlers import lines
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Connect, Peer
from tests.reeld.serving.line_buffer import Buffer, State, laid_out

CALL = {"type": "tool_call", "id": "c1", "name": "look", "arguments": '{"a": 1}'}
RESULT = {"type": "tool_result", "tool_call_id": "c1", "content": "seen\n```", "is_error": False}
CONVERSATION = (
    ("create", "demo", "be\nbrief"),
    ("add", "demo", ["one", {"role": "assistant", "content": [CALL]}, {"role": "tool", "content": [RESULT]}]),
)


class Follower:
    """A connection that keeps a buffer of lines, and remembers what its pushes say."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.buffer = Buffer()
        self.most = self.sent = 0
        self.is_whole, self.name, self.replaced = False, "", [0, 0]
        self.first: list[str] = []
        self.others: list[str] = []

    async def until(self, expected: State) -> None:
        """Take pushes until the buffer is as expected, and nothing else comes."""
        with anyio.fail_after(PATIENCE):
            while True:
                self._take(await self.peer.pushed())
                if self.is_whole and self.buffer.state == expected:
                    return
                if not self.peer.unread_pushes:
                    self._take([await self.peer.push()])

    def _take(self, pushes: list[tuple[str, Any]]) -> None:
        for name, push in pushes:
            if name == "lines":
                self.buffer.apply(push)
                self.is_whole, self.name = not push["more"], push["name"]
                self.replaced = push["replace"]
                self.first = self.first or push["lines"]
                self.most = max(self.most, len(push["lines"]))
                self.sent += len(push["lines"])
            else:
                self.others.append(name)


async def follow(peer: Peer, agent: str = "demo") -> Follower:
    """Follow the lines of an agent."""
    await peer.call("subscribe", {"agent": agent, "view": "lines"})
    return Follower(peer)


async def conversation(
    peer: Peer, agent: str = "demo", *drafts: tuple[str | None, str], at: int | None = None, waits: str = ""
) -> State:
    """Return the buffer that an agent should have, from what ``messages`` returns."""
    messages: list[Any] = []
    while True:
        since = messages[-1]["seq"] if messages else 0
        page = await peer.call("messages", {"agent": agent, "since": since, "limit": 1000, "at": at})
        messages += page["messages"]
        if not page["more"]:
            return laid_out(page["system"], messages, drafts, waits)


async def test_what_it_waits_for(connect: Connect) -> None:
    """An approval that is waited for is said below all else until it is given, whoever says so: a block or a record."""
    peer = connect()
    await peer.ask(*CONVERSATION)
    follower = await follow(connect())
    waits = "waiting for an approval: delete"

    def opaque(role: str, **data: Any) -> Any:
        return {"role": role, "content": [{"type": "opaque", "provider": "x", "data_json": json.dumps(data)}]}

    def record(*approvals: Any) -> Any:
        data = {"pydantic_ai_record": json.dumps({"deferred_tool_requests": {"approvals": approvals}})}
        return {"kind": "note", "data_json": json.dumps(data)}

    await peer.ask(("add", "demo", [opaque("assistant", type="function_approval_request", name="delete")]))
    await follower.until(await conversation(peer, waits=waits))
    assert f"## assistant · {waits}" in (await peer.call("messages", {"agent": "demo", "view": "lines"}))["lines"]
    await peer.ask(("add", "demo", [opaque("user", type="function_approval_response", approved=True)]))
    await follower.until(await conversation(peer))
    assert "### approved" in follower.buffer.lines
    await peer.ask(("add", "demo", [{"role": "assistant", "content": [{**CALL, "id": "c2"}]}]))
    await peer.ask(("add", "demo", [record({"tool_name": "delete"})]))
    await follower.until(await conversation(peer, waits=waits))
    await peer.ask(("undo", "demo"))
    await follower.until(await conversation(peer))


async def test_what_many_new_messages_ask(connect: Connect) -> None:
    """What the last of many new messages asks is said as well, although the newest of them come first."""
    peer = connect()
    await peer.ask(("create", "demo"))
    follower = await follow(connect())
    await follower.until(([], [], [], []))
    call = {**CALL, "name": "adk_request_confirmation"}
    await peer.ask(("add", "demo", [*["text"] * 500, {"role": "assistant", "content": [call]}]))

    await follower.until(await conversation(peer, waits="waiting for an approval"))


async def test_what_is_there_and_what_is_added(connect: Connect) -> None:
    """The first pushes are the conversation, the next ones what is added to it."""
    peer = connect()
    await peer.ask(*CONVERSATION)
    follower = await follow(connect())

    await follower.until(await conversation(peer))
    assert "### result of look c1" in follower.buffer.lines
    await peer.ask(("add", "demo", "two"))
    await follower.until(await conversation(peer))


async def test_drafts_of_others(connect: Connect) -> None:
    """Drafts are below the messages as they grow, those from before as well; a draft ends with its message."""
    peer, reader = connect(), connect()
    await peer.ask(*CONVERSATION, ("hello", {"client": {"name": "python"}}), ("draft", "demo", "I th"))
    follower = await follow(reader)

    await follower.until(await conversation(peer, "demo", ("python", "I th")))
    await peer.ask(("draft", "demo", "I think\nso"))
    await follower.until(await conversation(peer, "demo", ("python", "I think\nso")))
    await reader.ask(("draft", "demo", "my own"))
    await peer.ask(("add", "demo", [{"role": "assistant", "content": "I think\nso."}]))
    await follower.until(await conversation(peer))


async def test_drafts_for_two_subscriptions(connect: Connect) -> None:
    """A connection that follows events and lines gets drafts as both."""
    peer, reader = connect(), connect()
    await peer.ask(*CONVERSATION)
    await reader.call("subscribe", "demo")
    follower = await follow(reader)
    await follower.until(await conversation(peer))

    await peer.ask(("draft", "demo", "hm"))
    await follower.until(await conversation(peer, "demo", (None, "hm")))


async def test_a_message_takes_the_place_of_its_draft(connect: Connect) -> None:
    """A draft that has ended is replaced by its message in one patch; another one goes after a moment."""
    peer, other = connect(), connect()
    await peer.ask(*CONVERSATION, ("draft", "demo", "I think"))
    follower = await follow(connect())
    await follower.until(await conversation(peer, "demo", (None, "I think")))
    end = len(follower.buffer.lines)

    await peer.ask(("add", "demo", [{"role": "assistant", "content": "I think so."}]))
    await follower.until(await conversation(peer))
    assert [end - 4, end] == follower.replaced
    await other.ask(("draft", "demo", "hm"), ("draft", "demo", ""))
    await follower.until(await conversation(peer))


async def test_a_name_and_an_empty_conversation(connect: Connect) -> None:
    """An empty conversation has a patch without lines, and so has a new name."""
    peer = connect()
    await peer.ask(("create", "demo"))
    follower = await follow(connect())
    await follower.until(([], [], [], []))
    assert "demo" == follower.name

    await peer.ask(("change", "demo", {"name": "renamed"}))
    with anyio.fail_after(PATIENCE):
        while follower.name != "renamed":
            await follower.until(([], [], [], []))


async def test_an_earlier_state(connect: Connect) -> None:
    """The conversation at a seq does not change with what is added, and has no drafts; but what is erased goes."""
    peer = connect()
    await peer.ask(*CONVERSATION)
    then = await conversation(peer)
    await peer.ask(("clear", "demo"), ("add", "demo", "another"), ("draft", "demo", "hm"))
    reader = connect()
    await reader.call("subscribe", {"agent": "demo", "view": "lines", "at": 5})
    past = Follower(reader)

    await past.until(then)
    await peer.ask(("add", "demo", "more"))
    await peer.call("redact", {"agent": "demo", "text": "seen"})
    await past.until(await conversation(peer, at=5))
    assert "more" not in past.buffer.lines
    assert "seen" not in past.buffer.lines


async def test_the_live_state_is_replaced(connect: Connect, services: Services) -> None:
    """After a reset all messages are sent again, and the buffer is the conversation."""
    peer = connect()
    await peer.ask(*CONVERSATION)
    follower = await follow(connect())
    await follower.until(await conversation(peer))

    agent = await services.registry.find("demo")
    services.registry.bus.reset(agent.committed.profile)
    before = len(follower.buffer.lines)
    await peer.ask(("add", "demo", "after"))

    await follower.until(await conversation(peer))
    messages = follower.buffer.lines[follower.buffer.lines.index("## user #3") :]
    assert before + len(messages) == follower.sent


async def test_a_redaction(connect: Connect) -> None:
    """What is redacted goes from the buffer."""
    peer = connect()
    await peer.ask(*CONVERSATION, ("add", "demo", "a secret"))
    follower = await follow(connect())
    await follower.until(await conversation(peer))
    assert "a secret" in follower.buffer.lines

    await peer.call("redact", {"agent": "demo", "text": "secret"})

    await follower.until(await conversation(peer))
    assert "a secret" not in follower.buffer.lines


async def test_a_draft_is_redacted(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is redacted in a draft goes at once, although a draft that has ended is shown a moment longer."""
    monkeypatch.setattr(line_view, "_GRACE", PATIENCE * 2)
    peer = connect()
    await peer.ask(*CONVERSATION, ("add", "demo", "a secret"), ("draft", "demo", "the secret"))
    follower = await follow(connect())
    await follower.until(await conversation(peer, "demo", (None, "the secret")))

    await peer.call("redact", {"agent": "demo", "text": "secret"})

    await follower.until(await conversation(peer))


async def test_a_purge(connect: Connect) -> None:
    """Nothing is left of an agent that is purged, and its followers are told to look again."""
    peer, reader = connect(), connect()
    await peer.ask(*CONVERSATION)
    follower = await follow(reader)
    await follower.until(await conversation(peer))

    await peer.ask(("kill", "demo"), ("purge", "demo"))

    await follower.until(([], [], [], []))
    assert "reset" == (follower.others or [(await reader.push())[0]])[0]


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_happens(connect: Connect, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After any commands, for a reader with little room as well, the buffer is the conversation."""
    monkeypatch.setattr(line_sheet, "MOST_LINES", 7)
    monkeypatch.setattr(line_view, "_LARGE", 200)
    monkeypatch.setattr(line_view, "_PAGE", 3)
    monkeypatch.setattr(line_view, "_NEWEST", 2)
    monkeypatch.setattr(line_view, "_LONG", 1)
    chosen = random.Random(seed)
    peer = connect()
    await peer.ask(*CONVERSATION, ("clone", "demo", "other"), ("add", "other", "theirs"), ("mark", "demo", "m"))
    follower = await follow(connect(Limits(pushes=700), room=1))
    draft = ""
    for _ in range(40):
        draft = chosen.choice(["", draft + "a", f"{draft}\nb", "c"])
        await peer.ask(*chosen.choices(_commands(draft, chosen.randrange(1, 20)), k=chosen.randrange(1, 4)))
        if chosen.random() < 0.2:  # otherwise what comes meanwhile is sent together
            await peer.ask(("draft", "demo", draft))
            await follower.until(await conversation(peer, "demo", *([(None, draft)] if draft else [])))

    await peer.ask(("draft", "demo", ""))
    await follower.until(await conversation(peer))
    assert follower.most <= 7


def _commands(draft: str, seq: int) -> list[tuple[Any, ...]]:
    """Return commands, of which some may be refused."""
    return [
        ("add", "demo", "x"),
        ("add", "demo", ["one\ntwo", {"role": "assistant", "content": [{**CALL, "name": f"look{seq}"}]}]),
        ("add", "demo", [{"role": "tool", "content": [RESULT]}]),
        ("add", "demo", "long\n" * 60),
        ("add", "demo", [{"role": "system", "content": f"prompt {seq}"}]),
        ("add", "other", f"theirs {seq}"),
        ("undo", "demo"),
        ("redo", "demo"),
        ("mark", "demo", "m"),
        ("rewind", "demo", "m"),
        ("restore", "demo", seq),
        ("clear", "demo"),
        ("clone", "other", {"into": "demo"}),
        ("redact", {"agent": "demo", "text": "theirs"}),
        ("draft", "demo", draft),
    ]


async def test_a_conversation_that_is_not_in_memory(connect: Connect, services: Services) -> None:
    """Of a long conversation, what is not in memory is read from the log, and sent once; the newest messages first."""
    peer = connect()
    await peer.ask(("create", "demo"))
    for _ in range(3):
        await peer.ask(("add", "demo", [f"message {number}" for number in range(700)]))
    for agent in services.registry.live():
        agent.committed.conversation.trim(10)
    follower = await follow(connect())

    await follower.until(await conversation(peer))
    assert "message 600" == follower.first[2]
    await peer.ask(("add", "demo", "more"))
    await follower.until(await conversation(peer))
    assert follower.most <= 500
    assert follower.sent == len(follower.buffer.lines)


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"view": "lines"}, InvalidParams),
        ({"agent": "demo", "view": "lines", "since": 1}, InvalidParams),
        ({"agent": "demo", "view": "lines", "kinds": ["user"]}, InvalidParams),
        ({"agent": "demo", "view": "lines", "time": 1}, InvalidParams),
        ({"agent": "nobody", "view": "lines"}, NotFound),
        ({"agent": "demo", "view": "lines", "at": 99}, InvalidParams),
        ({"agent": "demo", "at": 1}, InvalidParams),
    ],
)
async def test_what_is_refused(connect: Connect, asked: dict[str, Any], error: type[ReelError]) -> None:
    """Lines are of one conversation, and begin at its beginning."""
    peer = connect()
    await peer.ask(*CONVERSATION)

    with pytest.raises(error):
        await peer.call("subscribe", asked)


async def test_a_conversation_that_is_too_long(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that grows too long ends the subscription, and then the reason is told."""
    monkeypatch.setattr(line_view, "MOST_MESSAGES", 3)
    monkeypatch.setattr(lines, "MOST_MESSAGES", 3)
    peer, reader = connect(), connect()
    await peer.ask(*CONVERSATION)
    await reader.call("subscribe", {"agent": "demo", "view": "lines"})
    await peer.ask(("add", "demo", "four"))

    with anyio.fail_after(PATIENCE):
        while (await reader.push())[0] != "lagged":
            pass
    with pytest.raises(TooLarge, match="has 4 messages"):
        await reader.call("subscribe", {"agent": "demo", "view": "lines"})


async def test_it_ends(connect: Connect) -> None:
    """After ``unsubscribe`` nothing is pushed."""
    peer, reader = connect(), connect()
    await peer.ask(*CONVERSATION)
    follower = await follow(reader)
    await follower.until(await conversation(peer))
    await reader.call("unsubscribe", 1)
    await peer.ask(("add", "demo", "more"))

    assert [] == await reader.pushed()
