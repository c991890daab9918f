"""The session in which a window of Claude Code went on after ``/clear``, as far as that can be told.

It began with the command, in the same directory, when nothing more was said in the session before.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import encode
from reel.importing.cleared import CLEARED
from reel.mcp.tools.live import live_rows

if TYPE_CHECKING:
    from reel.mcp.tools.desk import Desk
    from reel.replies import AgentInfo, AgentRow

_CLAUDE_CODE = "claude-code"
# The command is the second message; what a person is told of commands is the first.
_FIRST = 3


class Cleared(NamedTuple):
    """A session that began with ``/clear``: when that was, and when its newest message was said."""

    row: AgentRow
    began: int
    ended: int


async def successors(desk: Desk, named: AgentInfo) -> list[AgentRow]:
    """Return the sessions that may have followed one after ``/clear``; none if it is still being held."""
    rows = live_rows(await desk.written_here(), _CLAUDE_CODE, int(time.time() * 1000))
    others = [row for row in rows if row.id != named.id]
    if not others:
        return []
    (own,) = (await desk.client.agents(ids=[named.id], details=True)).agents
    cleared = [Cleared(row, began, row.said or 0) for row in others if (began := await _began(desk, row)) is not None]
    return following(own.said or 0, cleared)


def following(ended: int, cleared: Iterable[Cleared]) -> list[AgentRow]:
    """Return which sessions may have followed one that ended then.

    A window may have been cleared several times: if the sessions followed each other, it is in the last one. If they
    overlapped, it may be in any of them.
    """
    later = sorted((each for each in cleared if each.began >= ended), key=lambda each: each.began)
    is_chain = all(before.ended < after.began for before, after in pairwise(later))
    return [each.row for each in (later[-1:] if is_chain else later)]


async def _began(desk: Desk, row: AgentRow) -> int | None:
    """Return when a session was begun by ``/clear``; ``None`` if it was not."""
    page = await desk.client.messages(row.id, limit=_FIRST)
    moments = (each.get("sent", each["time"]) for each in page.messages if CLEARED in encode(each["content"]))
    return next(moments, None)
