"""The server: what it answers to each request of the protocol, and how it runs until its client ends.

Clients of the newest protocol ask ``server/discover`` and name the version with each request; others begin with
``initialize``. Both get the same answers, and neither has to come first: nothing here depends on it.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from reel.base.errors import ReelError
from reel.base.light_typing import NamedTuple
from reel.importing.adding.masking import Masking
from reel.mcp.answers.answer import MIN_BUDGET, beginning, size
from reel.mcp.daemon import Daemon
from reel.mcp.freshness import Freshness, Settled
from reel.mcp.prompts import RECALL, recall
from reel.mcp.protocol.frames import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    ProtocolError,
    Request,
)
from reel.mcp.protocol.peer import Peer
from reel.mcp.protocol.stdio import lines_from, write_all
from reel.mcp.resources import TEMPLATE, complete_name, list_resources, read_resource
from reel.mcp.roots import directories_in
from reel.mcp.tools.arguments import Arguments, ToolError, shown
from reel.mcp.tools.desk import Desk
from reel.mcp.tools.own_session import caller_of
from reel.mcp.tools.table import INSTRUCTIONS, TOOLS
from reel.reading.wording import flat, safe
from reel.version import __version__

# Those of the handshake, and the one without it.
_HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_MODERN = "2026-07-28"
_VERSIONS = (*_HANDSHAKES, _MODERN)
# Where a request without a handshake says its version and who sends it, and an answer who gives it.
_VERSION_OF_REQUEST = "io.modelcontextprotocol/protocolVersion"
_SENDER = "io.modelcontextprotocol/clientInfo"
_SERVER = "io.modelcontextprotocol/serverInfo"
_INFO = {"name": "reel", "title": "Reel: earlier conversations", "version": __version__}
_CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}
# The bytes of the line about what is not read in yet, and those of a version that an error repeats.
_STATE = 200
_REPEATED = 80
# What clients may keep of the newest protocol's answers, and for how long: nothing, since each may change any time.
_FRESH = {"ttlMs": 0, "cacheScope": "private"}


class Options(NamedTuple):
    """How a server behaves.

    Args:
        socket: the path of the daemon's socket.
        starts: whether to start a daemon if none runs.
        writes: whether there is the tool that keeps notes.
        shows_secrets: whether keys and passwords are shown as they are.
        new_masking: what an import does with keys and passwords; ``None`` not to bring in what tools have written.
    """

    socket: str
    starts: bool = True
    writes: bool = False
    shows_secrets: bool = False
    new_masking: Callable[[], Masking] | None = None


class Server:
    """Answers one client.

    Args:
        options: how it behaves.
        daemon: the daemon.
        environment: the variables of its environment.
        directory: its working directory.
        freshness: brings in what tools have written, if that is wanted.
    """

    def __init__(
        self,
        options: Options,
        daemon: Daemon,
        environment: Mapping[str, str],
        directory: str,
        freshness: Freshness | None = None,
    ) -> None:
        self._options = options
        self._daemon = daemon
        self._environment = environment
        self._directory = directory
        self._freshness = freshness
        self._client_name = ""
        self._has_roots = False
        self._roots: tuple[str, ...] | None = None
        # How often the client has said that its roots are others.
        self._changes = 0
        self._tools = {tool.name: tool for tool in TOOLS if options.writes or not tool.writes}
        self.peer: Peer | None = None
        self._methods: dict[str, Callable[[Request], Awaitable[dict[str, Any]]]] = {
            "initialize": self._initialize,
            "server/discover": self._discover,
            "ping": self._ping,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_templates,
            "resources/read": self._read_resource,
            "completion/complete": self._complete,
            "prompts/list": self._list_prompts,
            "prompts/get": self._get_prompt,
        }

    async def handle(self, request: Request) -> dict[str, Any]:
        """Answer a request.

        Raises:
            ProtocolError: it is not one of the protocol.
        """
        version = request.meta.get(_VERSION_OF_REQUEST)
        if version is not None and version not in _VERSIONS:
            what = f"this server does not speak version {shown(version)} of the protocol"
            told = {"supported": list(_VERSIONS), "requested": beginning(str(version), _REPEATED)}
            raise ProtocolError(UNSUPPORTED_VERSION, what, told)
        method = self._methods.get(request.method)
        if method is None:
            raise ProtocolError(METHOD_NOT_FOUND, f"there is no method {shown(request.method)}")
        try:
            result = await method(request)
        except (ToolError, ReelError) as error:  # of a tool, it is a part of the answer
            raise ProtocolError(INTERNAL_ERROR, _in_a_sentence(error)) from None
        if version != _MODERN:
            return result
        return {**result, "resultType": "complete", "_meta": {_SERVER: _INFO}}

    async def _initialize(self, request: Request) -> dict[str, Any]:
        asked = request.params.get("protocolVersion")
        version = asked if asked in _HANDSHAKES else _HANDSHAKES[-1]
        self._client_name = _name_in(request.params.get("clientInfo"))
        capabilities = request.params.get("capabilities")
        self._has_roots = isinstance(capabilities, dict) and "roots" in capabilities
        return {
            "protocolVersion": version,
            "capabilities": _CAPABILITIES,
            "serverInfo": _INFO,
            "instructions": INSTRUCTIONS,
        }

    async def _discover(self, _request: Request) -> dict[str, Any]:
        return {
            "supportedVersions": list(_VERSIONS),
            "capabilities": _CAPABILITIES,
            "instructions": INSTRUCTIONS,
            **_FRESH,
        }

    async def _ping(self, _request: Request) -> dict[str, Any]:
        return {}

    async def _list_tools(self, _request: Request) -> dict[str, Any]:
        return {"tools": [tool.as_map() for tool in self._tools.values()], **_FRESH}

    async def _call_tool(self, request: Request) -> dict[str, Any]:
        name, given = request.params.get("name"), request.params.get("arguments") or {}
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None or not isinstance(given, dict):
            there = ", ".join(self._tools)
            raise ProtocolError(INVALID_PARAMS, f"there is no tool {shown(name)}; call one of {there} with an object")
        try:
            desk, state = await self._settled(await self._desk(request))
            arguments = Arguments(tool.name, given, tool.parameters, kept=size(state))
            answer = await tool.answer(desk, arguments)
        except (ToolError, ReelError) as error:
            return _content(_in_a_sentence(error), is_error=True)
        return _content(f"{answer.text}{state}", is_error=False)

    async def _list_resources(self, request: Request) -> dict[str, Any]:
        # Clients list them as they start: an import then would be too early for what is said next, and delay the one
        # that a call begins.
        return {**await list_resources(await self._desk(request), request.params.get("cursor")), **_FRESH}

    async def _list_templates(self, _request: Request) -> dict[str, Any]:
        return {"resourceTemplates": [TEMPLATE], **_FRESH}

    async def _read_resource(self, request: Request) -> dict[str, Any]:
        desk, state = await self._settled(await self._desk(request))
        return {**await read_resource(desk, request.params.get("uri"), state), **_FRESH}

    async def _complete(self, request: Request) -> dict[str, Any]:
        ref, argument = request.params.get("ref"), request.params.get("argument")
        if not isinstance(ref, dict) or not isinstance(argument, dict):
            raise ProtocolError(INVALID_PARAMS, "a completion has a ref and an argument, which are objects")
        if ref.get("uri") != TEMPLATE["uriTemplate"]:
            return {"completion": {"values": []}}
        return await complete_name(await self._desk(request), str(argument.get("value", "")))

    async def _list_prompts(self, _request: Request) -> dict[str, Any]:
        return {"prompts": [RECALL], **_FRESH}

    async def _get_prompt(self, request: Request) -> dict[str, Any]:
        return await recall(*await self._settled(await self._desk(request)), request.params)

    async def _settled(self, desk: Desk) -> tuple[Desk, str]:
        """Wait a moment for what tools have written; return also the line about what is not read in yet, if any."""
        if self._freshness is None:
            return desk, ""
        settled = await self._freshness.settle(caller_of(desk))
        words = await _not_read_in(desk, settled)
        return desk._replace(is_newest=settled.is_newest), f"\n{beginning(words, _STATE)}" if words else ""

    async def _desk(self, request: Request) -> Desk:
        """Return what a call works with."""
        client = await self._daemon.client()
        name = _name_in(request.meta.get(_SENDER)) or self._client_name
        project = await self._project()
        return Desk(
            client, project, str if self._options.shows_secrets else _masked, self._environment, request.meta, name
        )

    async def _project(self) -> tuple[str, ...]:
        """Return the directories of the project: what the client says, or where the server was started."""
        if told := self._environment.get("CLAUDE_PROJECT_DIR"):
            return (told,)
        while self._roots is None and self._has_roots and self.peer is not None:
            changes = self._changes
            found = directories_in(await self.peer.ask("roots/list", {}))
            if changes == self._changes:  # else they are those from before the change
                self._roots = found
        return self._roots or ((self._directory,) if self._directory else ())

    def forget_roots(self) -> None:
        """Ask the client for its roots again when they are needed."""
        self._roots = None
        self._changes += 1


async def _not_read_in(desk: Desk, settled: Settled) -> str:
    """Return the words for what is not read in yet; empty if all is."""
    if settled.is_reading:
        # What is not shown is not named either, and of what is not there yet nobody knows.
        found = await desk.look_up(settled.at) if settled.at else None
        what = "what was written since" if found is None else found.name
        return f"Not read in yet: {what}. Call again in a few seconds for the newest."
    if settled.problem:
        return f"What tools wrote since is not read in: {flat(safe(desk.mask(settled.problem)))}"
    return ""


def _masked(text: str) -> str:
    """Return a text in which keys and passwords are hidden."""
    from reel.secrets.finding import anonymous  # noqa: PLC0415 - 35 ms, which the reply to `initialize` need not wait for

    return anonymous(text)


def _name_in(info: Any) -> str:
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else ""


def _content(text: str, *, is_error: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _in_a_sentence(error: ToolError | ReelError) -> str:
    text = error.message if isinstance(error, ReelError) else str(error)
    return beginning(text, MIN_BUDGET)


def _working_directory() -> str:
    """Return where the server was started; empty if that is no project's."""
    try:
        directory = os.getcwd()
    except FileNotFoundError:
        return ""
    return "" if directory == "/" else directory


async def serve(options: Options) -> None:
    """Answer the client on stdin and stdout until it closes its end."""
    daemon = Daemon(options.socket, starts=options.starts)
    masking = options.new_masking
    freshness = None if masking is None else Freshness(options.socket, os.environ, masking)
    server = Server(options, daemon, os.environ, _working_directory(), freshness)
    stdin, stdout = 0, 1

    async def write(line: bytes) -> None:
        await write_all(stdout, line)

    def note(notification: Any) -> None:
        if notification.method == "notifications/roots/list_changed":
            server.forget_roots()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(daemon.run)
        if freshness is not None:
            tasks.start_soon(freshness.run)
        server.peer = Peer(lines_from(stdin), write, server.handle, note)
        await server.peer.run()
        tasks.cancel_scope.cancel()
