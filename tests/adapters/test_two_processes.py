"""Two processes may use one session of any framework."""

import asyncio
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.two_writers import SESSION, WRITERS
from tests.daemon import Daemon, short_directory
from tests.forkserver import ForkedDaemon
from tests.patience import PATIENCE

_ROOT = Path(__file__).parents[2]
_TURNS = 15


def texts(daemon: Daemon, agent: str) -> list[str]:
    """Return what was added, in its order."""
    if agent.startswith("claude/"):  # the entries of each are a branch
        from reel.integrations.claude_agent_sdk import ReelSessionStore  # noqa: PLC0415 - it may not be there

        key: Any = {"project_key": "-home", "session_id": SESSION}
        store = ReelSessionStore(socket=daemon.socket)
        loaded = asyncio.run(store.load(key)) or ()
        store.close()
        return [entry["uuid"] for entry in loaded]
    with daemon.client() as client:
        if agent.startswith("langgraph/"):
            records = [json.loads(event["data_json"] or "{}") for event in client.iter_history(agent)]
            values = [
                record["langgraph"]["values"]["text"] for record in records if "put" in record.get("langgraph", {})
            ]
            written = [record["langgraph"]["task"] for record in records if "to" in record.get("langgraph", {})]
            found = [json.loads(value)[1] for value in values]
            assert sorted(found) == sorted(written)
            return found
        blocks: list[Any] = [block for message in client.messages(agent).messages for block in message["content"]]
        return [block["text"] for block in blocks]


@pytest.mark.parametrize("name", WRITERS)
def test_two_processes_at_once(name: str) -> None:
    """Of what two processes add to one session at once, nothing is lost or doubled, and each one's order stays."""
    module, agent, *_ = WRITERS[name]
    if find_spec(module.partition(".")[0]) is None or find_spec(module) is None:
        pytest.skip(f"{name} is not installed")
    with short_directory() as directory:
        daemon = ForkedDaemon(directory).start()
        command = [sys.executable, "-m", "tests.adapters.two_writers", name, daemon.socket]
        programs = [
            subprocess.Popen(
                [*command, who, str(_TURNS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT
            )
            for who in ("left", "right")
        ]
        for program in programs:
            assert program.stdout is not None
            assert "ready\n" == program.stdout.readline()
        for program in programs:
            assert program.stdin is not None
            program.stdin.write("\n")
            program.stdin.flush()
        for program in programs:
            program.communicate(timeout=PATIENCE)
            assert 0 == program.returncode
        said = texts(daemon, agent)
        daemon.close()

    for who in ("left", "right"):
        assert [f"{who}-{number}" for number in range(_TURNS)] == [text for text in said if text.startswith(who)]
    assert 2 * _TURNS == len(said)
