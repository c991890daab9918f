"""The server of ``reel mcp``, driven by the official client of the Model Context Protocol, in both of its ways."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

from reel.sync.client import Client as ReelClient
from tests.daemon import Daemon, until_indexed
from tests.patience import PATIENCE

REEL = ["-c", "from reel.cli import process; process()"]
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])


@pytest.fixture
def reel(daemon: Daemon) -> Iterator[ReelClient]:
    """A client of the daemon, in which there is a conversation."""
    with daemon.client() as client:
        if not client.agents().agents:
            client.create("demo", tags={"cwd": "/project"}, title="Ports")
            client.add("demo", "Which port?")
            client.add("demo", {"role": "assistant", "content": "Port 8124."})
            client.clear("demo")
            client.add("demo", "And now?")
            until_indexed(client)
        yield client


def client_of(daemon: Daemon, *options: str, mode: str = "auto", **kwargs: Any) -> Client:
    """Return a client that starts a server."""
    environment = {**os.environ, "REEL_SOCKET": daemon.socket, "CLAUDE_PROJECT_DIR": "/project"}
    server = StdioServerParameters(command=sys.executable, args=[*REEL, "mcp", *options], env=environment)
    return Client(stdio_client(server), mode=mode, **kwargs)


def text_of(result: Any) -> str:
    """Return the text of a result."""
    return "".join(part.text for part in result.content)


@MODES
@pytest.mark.usefixtures("reel")
def test_every_tool(daemon: Daemon, mode: str) -> None:
    """The client lists the tools, calls each, and takes what it gets for what the protocol says."""

    async def drive() -> None:
        with anyio.fail_after(PATIENCE):
            async with client_of(daemon, "--write", mode=mode) as client:
                tools = (await client.list_tools()).tools
                said = {
                    "search": await client.call_tool("search", {"query": "port"}),
                    "read": await client.call_tool("read", {"conversation": "demo"}),
                    "conversations": await client.call_tool("conversations", {}),
                    "lost": await client.call_tool("lost", {"conversation": "demo"}),
                    "note": await client.call_tool("note", {"conversation": "demo", "text": "Ports are odd."}),
                }
                wrong = await client.call_tool("read", {"conversation": "nobody"})
                with pytest.raises(MCPError, match="there is no tool"):
                    await client.call_tool("erase", {})

                assert {"legacy": "2025-11-25", "auto": "2026-07-28"}[mode] == client.protocol_version
                assert "NAME #SEQ" in (client.instructions or "")
                assert [tool.name for tool in tools] == list(said)
                assert [True, True, True, True, False] == [
                    tool.annotations and tool.annotations.read_only_hint for tool in tools
                ]
                assert not any(result.is_error for result in said.values())
                assert "Port 8124." in text_of(said["search"])
                assert "demo (" in text_of(said["conversations"])
                assert "And now?" in text_of(said["read"])
                assert "Port 8124." in text_of(said["lost"])
                assert "Kept as" in text_of(said["note"])
                assert wrong.is_error
                assert "call conversations" in text_of(wrong)

    anyio.run(drive)


def exchange(daemon: Daemon, lines: Sequence[dict[str, Any]], **environment: str) -> list[dict[str, Any]]:
    """Return what a server writes that is given some lines at once, and no more."""
    said = "".join(f"{json.dumps({'jsonrpc': '2.0', **line})}\n" for line in lines)
    ran = subprocess.run(
        [sys.executable, *REEL, "mcp"],
        input=said,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "REEL_SOCKET": daemon.socket, **environment},
        check=True,
    )
    assert "" == ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_what_comes_before_initialize(daemon: Daemon) -> None:
    """A request before ``initialize`` is answered, an unknown method is an error, and the end of stdin is the end."""
    lines: list[dict[str, Any]] = [
        {"id": "d", "method": "server/discover"},
        {"id": 1, "method": "sampling/unheard"},
        {"id": 2, "method": "initialize", "params": {"protocolVersion": "2099-01-01", "capabilities": {}}},
        {"id": 3, "method": "tools/list", "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "1999"}}},
    ]
    found = {each["id"]: each for each in exchange(daemon, lines)}

    assert "2026-07-28" in found["d"]["result"]["supportedVersions"]
    assert -32601 == found[1]["error"]["code"]
    assert "2025-11-25" == found[2]["result"]["protocolVersion"]
    assert -32022 == found[3]["error"]["code"]


@pytest.mark.usefixtures("reel")
def test_start_and_memory(daemon: Daemon) -> None:
    """The server answers for the first time with less than 60 MB; how long that takes is printed."""
    call = {"name": "search", "arguments": {"query": "port"}}
    lines = [{"id": 1, "method": "initialize", "params": {}}, {"id": 2, "method": "tools/call", "params": call}]
    environment = {**os.environ, "REEL_SOCKET": daemon.socket}
    began = monotonic()
    with subprocess.Popen(
        [sys.executable, *REEL, "mcp"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for line in lines:
            server.stdin.write(f"{json.dumps({'jsonrpc': '2.0', **line})}\n")
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in lines]
        took = monotonic() - began
        process = Path(f"/proc/{server.pid}")
        peak = int(re.findall(r"VmHWM:\s*(\d+)", (process / "status").read_text())[0])
        ticks = sum(map(int, (process / "stat").read_text().rpartition(")")[2].split()[11:13]))
        server.stdin.close()
    work = ticks / os.sysconf("SC_CLK_TCK")
    print(f"\nto the first answer: {took:.2f} s, {work:.2f} s of work, {peak / 1000:.0f} MB", end="")  # noqa: T201

    assert {1, 2} == {answer["id"] for answer in answers if "result" in answer}
    assert 60_000 > peak
