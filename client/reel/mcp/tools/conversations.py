"""The tool ``conversations``: which there are."""

from __future__ import annotations

from reel.base.errors import InvalidParams
from reel.mcp.answers.answer import Answer, beginning, size
from reel.mcp.tools.arguments import Arguments, ToolError, no_cursor, shown
from reel.mcp.tools.desk import Desk
from reel.reading.wording import count, flat, safe, utc_minute
from reel.replies import AgentRow

_ROWS = 20
_WORDS = 160
_QUERY = 200
# The daemon counts no further.
_MOST_COUNTED = 1000


async def conversations(desk: Desk, given: Arguments) -> Answer:
    """Answer with a list of conversations, the most recently changed first."""
    query, everywhere, cursor = given.text("query"), given.flag("everywhere"), given.text("cursor")
    try:
        page = await desk.list(
            order="updated",
            details=True,
            query=query or None,
            dirs=desk.scope(everywhere=everywhere),
            limit=_ROWS,
            after=cursor or None,
        )
    except InvalidParams as error:
        raise ToolError(f"conversations was refused: {error.message}; call it with other words") from None
    having = f" whose name, title or tags have {beginning(shown(query), _QUERY)}" if query else ""
    where = desk.where(everywhere=everywhere)
    if not page.agents and cursor:
        raise ToolError(no_cursor("conversations", cursor, "the newest"))
    if not page.agents:
        what_else = "Call it with everywhere: true for all projects." if desk.scope(everywhere=everywhere) else ""
        return Answer((f"There is no conversation {where}{having}.", *([what_else] if what_else else [])))
    before = (f"Conversations {where}{having}, the most recently changed first.",)
    after: tuple[str, ...] = ("Read the end of one: read(conversation='NAME'). Find what was said: search(query=…).",)
    more = f"More: conversations({_given(query, everywhere=everywhere)}cursor='{page.agents[-1].id}')."
    room = Answer(before, after=(*after, more)).room(given.budget)
    lines: list[str] = []
    last = page.agents[0]
    for row in page.agents:
        line = _line(desk, row, with_directory=everywhere or not desk.project)
        room -= size(line) + 1
        if room < 0:
            break
        lines.append(line)
        last = row
    if page.more or len(lines) < len(page.agents):
        after = (*after, more.replace(page.agents[-1].id, last.id))
    return Answer(before, "\n".join(lines), after)


def _given(query: str, *, everywhere: bool) -> str:
    words = f"query={beginning(shown(query), _QUERY)}, " if query else ""
    return f"{words}{'everywhere=true, ' if everywhere else ''}"


def _line(desk: Desk, row: AgentRow, *, with_directory: bool) -> str:
    number = row.messages or 0
    messages = f"{number:,}+ messages" if number >= _MOST_COUNTED else count(number, "message")
    facts = [utc_minute(row.said or row.updated), messages]
    if with_directory and (directory := row.tags.get("cwd")):
        facts.append(beginning(flat(safe(desk.mask(directory))), _WORDS))
    if not row.alive:
        facts.append("archived")
    words = beginning(flat(safe(desk.mask(row.title or row.first_words or ""))), _WORDS)
    return f"{row.name} ({', '.join(facts)}){f': {words}' if words else ''}"
