"""Keeping what is read fresh, with a server on a real daemon."""

import json
from pathlib import Path

import anyio
import pytest

from reel.importing.refreshing import Caller
from reel.mcp.freshness import Freshness, Settled
from tests.daemon import Daemon
from tests.reel.mcp.asking import asker

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("is_late", [False, True])
async def test_the_callers_own_session_is_read_in(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_late: bool
) -> None:
    """A session that was never imported is found by the calls of its own agent, or they say that it is read in.

    If its tool writes it after the first call, it is found without waiting for the next import that is due.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    fresh = f"fresh-{is_late}"
    path = tmp_path / f".claude/projects/-p/{fresh}.jsonl"
    path.parent.mkdir(parents=True)
    record = {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": fresh, "cwd": "/p"}
    line = json.dumps({**record, "message": {"role": "user", "content": "a fresh word"}}) + "\n"
    environment = {"HOME": str(tmp_path), "CLAUDE_CODE_SESSION_ID": fresh}
    freshness = Freshness(daemon.socket, environment, interval=3600)
    async with asker(daemon, "/p", environment, freshness=freshness) as ask:
        if is_late:
            assert (await ask("lost")).is_error
        path.write_text(line)
        said = await ask("lost")
        while said.is_error:
            assert "not read in yet" in said.text
            await anyio.sleep(0.01)  # between two polls
            said = await ask("lost")
        read = await ask("read", conversation=f"claude-code/{fresh}")

    assert f"Nothing was taken out of claude-code/{fresh}" in said.text
    assert "a fresh word" in read.quoted


async def test_what_a_call_can_count_on(daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All is read in if an import that a call began has ended; the next call does not know what was written since."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    freshness = Freshness(daemon.socket, {"HOME": str(tmp_path)}, interval=3600)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(freshness.run)
        await anyio.wait_all_tasks_blocked()
        settled = [await freshness.settle(Caller()) for _ in range(2)]
        tasks.cancel_scope.cancel()

    assert settled[0].is_newest or settled[0].is_reading
    assert not settled[1].is_newest


async def test_a_session_that_was_not_cleared(daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer says to call again after a /clear only as long as something may not be read in."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    environment = {"HOME": str(tmp_path), "CLAUDE_CODE_SESSION_ID": "held"}
    with daemon.client() as client:
        client.add("claude-code/held", "hello", create=True)
    again = "if it was cleared some seconds ago, call again"
    async with asker(daemon, "/p", environment, freshness=Freshness(daemon.socket, environment, interval=0)) as ask:
        said = await ask("lost")
        while again in said.text:  # an import takes longer than a call waits on a busy machine
            said = await ask("lost")
    async with asker(daemon, "/p", environment) as ask:
        unread = await ask("lost")

    assert "It is your own session: Claude Code names it in the environment." in said.text
    assert again in unread.text


async def test_an_import_that_breaks(daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import that fails in a way that nobody thought of is named in the answer, and the server goes on."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "reel").mkdir()
    (tmp_path / "reel/imported.json").write_text("[" * 100_000)
    async with asker(daemon, freshness=Freshness(daemon.socket, {"HOME": str(tmp_path)})) as ask:
        await ask("conversations")
        said = await ask("conversations")

    assert not said.is_error
    assert "What tools wrote since is not read in: RecursionError" in said.text


class Busy(Freshness):
    """An import that does not end: of one conversation after the other."""

    def __init__(self, *conversations: str) -> None:
        self._conversations = list(conversations)

    async def run(self) -> None:
        """Do nothing more."""

    async def settle(self, caller: Caller) -> Settled:  # noqa: ARG002 - it is the same for all
        """Say which one it is at."""
        return Settled(is_newest=False, is_reading=True, at=self._conversations.pop(0))


async def test_what_is_not_read_in_yet(daemon: Daemon) -> None:
    """A conversation that is being read in is named as elsewhere, but not a private or an unknown one."""
    key = f"sk-ant-api03-{'Ab3dE5' * 15}-AA"
    with daemon.client() as client:
        client.add("busy/plain", "a heron", create=True)
        agent = client.create(key).id
        client.create("busy/private", tags={"private": "yes"})
    async with asker(daemon, freshness=Busy(key, "busy/plain", "busy/private", "busy/private/agent-1", "")) as ask:
        secret, plain, *others = [await ask("search", query="heron") for _ in range(5)]

    assert f"\nNot read in yet: {agent}. Call again" in secret.text
    assert key not in secret.text
    assert "\nNot read in yet: busy/plain. Call again in a few seconds for the newest." in plain.text
    for each in others:
        assert each.text.endswith(
            "\nNot read in yet: what was written since. Call again in a few seconds for the newest."
        )


async def test_resources_and_the_prompt(daemon: Daemon) -> None:
    """They wait for what is written as well, and say what is not read in yet; the list begins no import."""
    with daemon.client() as client:
        client.add("busy/read", "a heron", create=True)
    async with asker(daemon, freshness=Busy("busy/read", "busy/read")) as ask:
        await ask.handle("resources/list")
        read = await ask.handle("resources/read", uri="reel://conversation/busy/read")
        made = await ask.handle("prompts/get", name="recall", arguments={"topic": "heron"})

    assert read["contents"][0]["text"].endswith(
        "Not read in yet: busy/read. Call again in a few seconds for the newest."
    )
    assert "Not read in yet: busy/read." in made["messages"][0]["content"]["text"]
