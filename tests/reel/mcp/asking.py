"""A server of the tests, in their own process, and what it says when a tool is called."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import anyio

from reel.mcp.daemon import Daemon as Connection
from reel.mcp.freshness import Freshness
from reel.mcp.protocol.frames import Request
from reel.mcp.server import Options, Server
from tests.daemon import Daemon
from tests.patience import PATIENCE


class Said(NamedTuple):
    """An answer: its text, and whether it is an error."""

    text: str
    is_error: bool

    @property
    def quoted(self) -> str:
        """What stands between the fences."""
        found = re.search(r"^--- (\w{8}) begins\n(.*)\n--- \1 ends$", self.text, re.DOTALL | re.MULTILINE)
        return found[2] if found else ""

    @property
    def seqs(self) -> list[int]:
        """The numbers of the messages in it."""
        return [int(seq) for seq in re.findall(r"^#(\d+) \w+, ", self.quoted, re.MULTILINE)]

    def call(self, begin: str) -> dict[str, Any]:
        """Return the arguments of the call on a line of ours that begins so; none without such a line."""
        found = re.search(rf"^{begin}.*?\((.*)\)", self.text.replace(self.quoted, ""), re.MULTILINE)
        return dict(re.findall(r"(\w+)='([^']*)'", found[1])) if found else {}


class Asker:
    """Calls the tools of a server."""

    def __init__(self, server: Server) -> None:
        self.server = server

    async def handle(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the result of a request."""
        return await self.server.handle(Request(1, method, params))

    async def __call__(self, tool: str, meta: Mapping[str, Any] | None = None, **given: Any) -> Said:
        """Return what a tool says."""
        result = await self.handle("tools/call", name=tool, arguments=given, _meta=dict(meta or {}))
        return Said(result["content"][0]["text"], result["isError"])


@asynccontextmanager
async def asker(
    daemon: Daemon,
    directory: str = "",
    environment: Mapping[str, str] | None = None,
    freshness: Freshness | None = None,
    **options: Any,
) -> AsyncIterator[Asker]:
    """Run a server for a block."""
    with anyio.fail_after(PATIENCE):
        connection = Connection(daemon.socket, starts=False)
        server = Server(Options(daemon.socket, **options), connection, environment or {}, directory, freshness)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.run)
            if freshness is not None:
                tasks.start_soon(freshness.run)
            yield Asker(server)
            tasks.cancel_scope.cancel()
