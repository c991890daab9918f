"""Which conversation is the caller's own."""

import json
from typing import Any

import pytest

from reel.mcp.tools.live import LIVE, live_rows
from reel.mcp.tools.own_session import named_session, tool_of
from reel.mcp.tools.successor import Cleared, following
from reel.replies import AgentRow
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.reel.mcp.asking import asker

NOW = 10**12
# Sessions: when they began, and when their newest message was said.
CLEARED = [("before", 10, 30), ("first", 20, 25), ("second", 26, 40), ("late", 22, 23)]


def row(name: str, age: int = 0, **tags: str) -> AgentRow:
    """Return a conversation in which the newest message was said some milliseconds ago."""
    return AgentRow(name, name, None, tags, alive=True, head=1, created=0, updated=NOW, said=NOW - age)


@pytest.mark.parametrize("thread", [{"thread_id": "t", "session_id": "s"}, {"session_id": "t"}])
def test_what_the_caller_says(thread: dict[str, str]) -> None:
    """Claude Code says its session in the environment, and Codex its thread with the call, as a map or as JSON."""
    claude = named_session({"CLAUDE_CODE_SESSION_ID": "c"}, {"x-codex-turn-metadata": thread})

    assert claude is not None
    assert "claude-code/c" == claude[0]
    for turn in (thread, json.dumps(thread)):
        found = named_session({}, {"x-codex-turn-metadata": turn})
        assert found is not None
        assert "codex/t" == found[0]


@pytest.mark.parametrize("turn", [None, "{", "[]", "[" * 100_000, 5, {}, {"thread_id": ""}, {"thread_id": 5}])
def test_what_says_nothing(turn: Any) -> None:
    """Anything else names no session."""
    assert named_session({}, {"x-codex-turn-metadata": turn}) is None


def test_the_tool_of_a_client() -> None:
    """Clients name themselves, some with more than their tool's name."""
    names = ("opencode", "codex-mcp-client", "gemini-cli-mcp-client", "pi", "pipe", "inspector")

    assert ["opencode", "codex", "gemini-cli", "pi", "", ""] == [tool_of(name) for name in names]


def test_live_conversations() -> None:
    """What counts is what was said a moment ago, by a session of the tool that calls; no sub-agent's."""
    rows = [
        row("old", LIVE + 1, tool="pi"),
        row("older", 5, tool="pi"),
        row("newer", 1, tool="pi"),
        row("sub", 0, tool="pi", parent="newer"),
        row("other", 0, tool="codex"),
    ]

    assert ["newer", "older"] == [each.name for each in live_rows(rows, "pi", NOW)]
    assert ["other", "newer", "older"] == [each.name for each in live_rows(rows, "", NOW)]


def test_what_followed_a_clear() -> None:
    """Of sessions that began with /clear one after the other, it is the last; of two at once, nobody can tell."""
    before, first, second, late = (Cleared(row(name), *span) for name, *span in CLEARED)

    assert [] == following(15, [before])
    assert [first.row] == following(15, [before, first])
    assert [second.row] == following(15, [second, first, before])
    assert [first.row, late.row] == following(15, [first, late])


@pytest.mark.slow
async def test_of_two_none_is_taken(daemon: Daemon, client: Client) -> None:
    """Of one live conversation the answer says why it is the caller's; two are both named, and none is taken."""
    client.create("one", tags={"cwd": "/own"})
    client.add("one", "hello")
    async with asker(daemon, "/own") as ask:
        alone = await ask("lost")
        client.create("two", tags={"cwd": "/own"})
        client.add("two", "hello")
        both = await ask("lost")

    assert "Nothing was taken out of one" in alone.text
    assert "It is your own session: it is the one in /own that is being written" in alone.text
    assert both.is_error
    assert "both two and one" in both.text


@pytest.mark.slow
async def test_named(daemon: Daemon, client: Client) -> None:
    """A session that the caller names is found under its name, or under its tag if it was renamed."""
    client.create("renamed", tags={"import": "claude-code/s1"})
    client.create("codex/t1")
    async with asker(daemon, "/named", {"CLAUDE_CODE_SESSION_ID": "s1"}) as ask:
        claude = await ask("lost")
    async with asker(daemon, "/named") as ask:
        codex = await ask("lost", {"x-codex-turn-metadata": {"thread_id": "t1"}})
        missing = await ask("lost", {"x-codex-turn-metadata": {"thread_id": "t2"}})
        nobody = await ask("lost")

    assert "taken out of renamed" in claude.text
    assert "taken out of codex/t1" in codex.text
    assert "codex/t2" in missing.text
    assert "not read in yet, or private" in missing.text
    assert "no conversation in /named" in nobody.text


@pytest.mark.slow
async def test_after_a_clear(daemon: Daemon, client: Client) -> None:
    """After /clear, Claude Code's session is the one that began so; the answer says where the rest is."""
    here = {"cwd": "/cleared", "tool": "claude-code"}
    command = "<command-name>/clear</command-name>"
    client.create("claude-code/e1", tags=here)
    client.add("claude-code/e1", "hello")
    client.create("claude-code/other", tags=here)
    client.add("claude-code/other", "another window")
    async with asker(daemon, "/cleared", {"CLAUDE_CODE_SESSION_ID": "e1"}) as ask:
        before = await ask("lost")
        client.create("claude-code/e2", tags=here)
        client.add("claude-code/e2", command)
        after = await ask("lost")
        client.add("claude-code/e1", "I was not cleared")
        still = await ask("lost")
        client.create("claude-code/e3", tags=here)
        client.add("claude-code/e3", command)
        client.create("claude-code/e4", tags=here)
        client.add("claude-code/e4", command)
        client.add("claude-code/e3", "at once")
        both = await ask("lost")

    assert "taken out of claude-code/e1" in before.text
    assert "taken out of claude-code/e2" in after.text
    assert "read(conversation='claude-code/e1')" in after.text
    assert "taken out of claude-code/e1" in still.text
    assert both.is_error
    assert "claude-code/e3 and claude-code/e4 may be" in both.text


@pytest.mark.slow
async def test_a_note(daemon: Daemon, client: Client) -> None:
    """A note is kept if the server may write, and there is no such tool otherwise."""
    client.create("noted")
    async with asker(daemon, writes=True) as ask:
        kept = await ask("note", conversation="noted", text="We chose port 8124.")
        empty = await ask("note", conversation="noted", text="")
        long = await ask("note", conversation="noted", text="x" * 9000)
        client.kill("noted")
        dead = await ask("note", conversation="noted", text="x")
    async with asker(daemon) as ask:
        tools = await ask.handle("tools/list")

    assert "Kept as #2 of noted" in kept.text
    assert "We chose port 8124." == client.history("noted", kinds=["note"]).events[0]["content"]
    assert all(found.is_error for found in (empty, long, dead))
    assert ["search", "read", "conversations", "lost"] == [tool["name"] for tool in tools["tools"]]
