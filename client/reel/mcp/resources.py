"""Conversations as resources, for clients in which a person chooses what a model reads, with completion of names."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, unquote

from reel.base.errors import InvalidParams
from reel.mcp.answers.answer import MAX_BUDGET, beginning, size
from reel.mcp.protocol.frames import INVALID_PARAMS, ProtocolError
from reel.mcp.tools.arguments import Arguments, ToolError, shown
from reel.mcp.tools.desk import Desk
from reel.mcp.tools.read import read
from reel.reading.wording import flat, safe
from reel.replies import AgentRow

_BASE = "reel://conversation/"
_PAGE = 50
# The most that the protocol allows.
_COMPLETIONS = 100
_TITLE = 120
_TYPE = "text/plain"
TEMPLATE = {
    "uriTemplate": f"{_BASE}{{+name}}",
    "name": "conversation",
    "title": "An earlier conversation",
    "description": "The newest messages of a conversation, by its name",
    "mimeType": _TYPE,
}


async def list_resources(desk: Desk, cursor: Any) -> dict[str, Any]:
    """Return a page of the conversations of the project, the most recently changed first."""
    try:
        page = await desk.list(
            order="updated",
            details=True,
            dirs=desk.scope(everywhere=False),
            limit=_PAGE,
            after=cursor if isinstance(cursor, str) else None,
        )
    except InvalidParams:
        raise _no_page(cursor) from None
    if cursor is not None and not page.agents:
        raise _no_page(cursor)
    more = {"nextCursor": page.agents[-1].id} if page.more and page.agents else {}
    return {"resources": [_resource(desk, row) for row in page.agents], **more}


def _no_page(cursor: Any) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, f"there is no page {shown(cursor)}; leave out the cursor for the first one")


def _resource(desk: Desk, row: AgentRow) -> dict[str, Any]:
    words = beginning(flat(safe(desk.mask(row.title or row.first_words or row.name))), _TITLE)
    return {"uri": f"{_BASE}{quote(row.name)}", "name": row.name, "title": words, "mimeType": _TYPE}


async def read_resource(desk: Desk, uri: Any, state: str = "") -> dict[str, Any]:
    """Return the newest messages of a conversation.

    Args:
        desk: what it works with.
        uri: the address of the resource.
        state: the line about what is not read in yet, if any.

    Raises:
        ProtocolError: there is no such resource.
    """
    if not isinstance(uri, str) or not uri.startswith(_BASE):
        raise ProtocolError(INVALID_PARAMS, f"there is no resource {shown(uri)}; they are {_BASE}NAME")
    name = unquote(uri.removeprefix(_BASE))
    given = {"conversation": name, "budget": MAX_BUDGET}
    try:
        answer = await read(desk, Arguments("read", given, given, kept=size(state)))
    except ToolError as error:
        raise ProtocolError(INVALID_PARAMS, str(error)) from None
    return {"contents": [{"uri": uri, "mimeType": _TYPE, "text": f"{answer.text}{state}"}]}


async def complete_name(desk: Desk, begin: str) -> dict[str, Any]:
    """Return the names of conversations that begin so."""
    page = await desk.list(prefix=begin, limit=_COMPLETIONS)
    return {"completion": {"values": [row.name for row in page.agents], "hasMore": page.more}}
