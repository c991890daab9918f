"""The tool ``note``: keeps a remark in a conversation, so that the next reader finds it."""

from __future__ import annotations

from reel.base.errors import ReelError
from reel.mcp.answers.answer import Answer
from reel.mcp.tools.arguments import Arguments, ToolError
from reel.mcp.tools.desk import Desk
from reel.mcp.tools.own_session import own_session

_LONGEST = 8_000


async def note(desk: Desk, given: Arguments) -> Answer:
    """Keep a remark, and answer where."""
    text, name = given.text("text"), given.text("conversation")
    if not text:
        raise ToolError("text of note is empty: say in a sentence or two what the next reader should know")
    if len(text) > _LONGEST:
        raise ToolError(f"text of note has {len(text):,} characters, and a note {_LONGEST:,} at most; say it in fewer")
    found, why = (await desk.find(name), "") if name else await own_session(desk)
    if not found.alive:
        raise ToolError(f"{found.name} is archived, and takes no note; name another conversation")
    try:
        added = await desk.client.add(found.id, [{"kind": "note", "content": text}])
    except ReelError as error:
        raise ToolError(f"the note was not kept in {found.name}: {error.message}; try another conversation") from None
    own = f" It is your own session: {why}." if why else ""
    return Answer((f"Kept as #{added.first} of {found.name}. search finds it; no model is sent it.{own}",))
