"""The session in docs/agents.md is a real one: Codex did something, and these are the answers to who asks for it.

The calls and the last answer are those of a model that does what the skill says.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reel.importing.adding.importer import Importer
from reel.importing.adding.pipeline import Pipeline
from reel.importing.adding.seen import Seen
from reel.importing.adding.target import CLIENT
from reel.importing.tools.codex.tool import TOOL
from reel.sync.client import Client
from tests.daemon import Daemon, until_indexed
from tests.reel.importing.rollouts import Lines
from tests.reel.mcp.asking import Said, asker

pytestmark = pytest.mark.slow
DOCS = Path(__file__).parent.parent.parent.parent / "docs/agents.md"
THREAD = "01a223fa-dbae-7fd1-9b00-ebe862624231"
NAME = f"codex/{THREAD}"
QUESTION = "Why does the gateway listen on 8124 and not on 8080?"
ANSWER = f"""\
Because the metrics exporter has 8080: Codex found that, and you agreed if the README says so
({NAME} #5, #6). The README does not say it yet; shall I add it?"""


def codex(home: Path) -> Path:
    """Write a session of Codex."""
    lines = Lines(THREAD)
    lines.said("user", "Move the gateway to a free port.")
    lines.call("c1").output("c1", "LISTEN 127.0.0.1:8080 metrics-exporter")
    lines.said("assistant", "8080 is taken by the metrics exporter, so I bound the gateway to 8124.")
    lines.said("user", "Fine, but say so in the README.")
    return lines.write(home / f"sessions/2026/08/01/rollout-2026-08-01T10-00-00-{THREAD}.jsonl")


def called(tool: str, given: dict[str, Any], said: Said) -> Iterator[str]:
    """Yield the lines of a call and of its answer."""
    yield f"● reel - {tool} ({', '.join(f'{name}: {value!r}' for name, value in given.items())})"
    yield from (f"  {'  ' if number else '⎿ '}{line}".rstrip() for number, line in enumerate(said.text.split("\n")))


async def test_the_session_of_the_docs(client: Client, daemon: Daemon, tmp_path: Path) -> None:
    """What the documentation shows is what is said; write it anew from here when an answer changes."""
    codex(tmp_path)
    with Pipeline(Client(daemon.socket, name=CLIENT, patience=0)) as pipeline:
        importer = Importer(pipeline, Seen(str(tmp_path / "imported.json")))
        importer.look()
        assert list(importer.run(TOOL, TOOL.discover(tmp_path / "sessions").sources))
    until_indexed(client)
    search: dict[str, Any] = {"query": "+8124 gateway"}
    async with asker(daemon, "/home/me/deck") as ask:
        found = await ask("search", **search)
        (best, *_) = re.findall(r"^  #(\d+) assistant", found.quoted, re.MULTILINE)
        read: dict[str, Any] = {"conversation": NAME, "seq": int(best)}
        around = await ask("read", **read)

    lines = [f"> {QUESTION}", "", *called("search", search, found), *called("read", read, around), ""]
    lines += [f"● {ANSWER}".replace("\n", "\n  ")]
    picture = "\n".join(lines)
    shown = re.search(r"```\n(> .*?)\n```", DOCS.read_text(), re.DOTALL)
    assert shown is not None
    assert picture == shown[1], picture
    assert all(f"#{seq} " in around.quoted for seq in re.findall(r"#(\d+)", ANSWER))
