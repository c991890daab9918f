"""Which conversation is the caller's own: it says so, or it is the only one of its directory that is being written.

Claude Code names its session in the environment of its servers, and after a ``/clear`` it is the one that followed.
Codex names it with each call. For the others, what counts is what was said in the directory in the last minutes: of two
conversations, none is taken.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from reel.importing.adding.described import TAG
from reel.importing.refreshing import Caller
from reel.importing.values import name_of
from reel.mcp.tools.arguments import ToolError
from reel.mcp.tools.live import live_rows
from reel.mcp.tools.successor import successors
from reel.reading.wording import age

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reel.mcp.tools.desk import Desk
    from reel.replies import AgentInfo, AgentRow

_CODEX = "x-codex-turn-metadata"
# The tools by what their clients of the protocol call themselves.
_TOOLS = {
    "claude-code": "claude-code",
    "codex": "codex",
    "gemini": "gemini-cli",
    "opencode": "opencode",
    "pi": "pi",
    "qwen": "qwen-code",
}


_SESSION = "CLAUDE_CODE_SESSION_ID"


def named_session(environment: Mapping[str, str], meta: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the name of the conversation that the caller says is its own, and where it says so."""
    if session := environment.get(_SESSION):
        return name_of("claude-code", session), "Claude Code names it in the environment"
    turn = meta.get(_CODEX)
    if isinstance(turn, str):
        try:
            turn = json.loads(turn)
        except (ValueError, RecursionError):
            return None
    if isinstance(turn, dict):
        thread = turn.get("thread_id") or turn.get("session_id")
        if isinstance(thread, str) and thread:
            return name_of("codex", thread), "Codex names it with the call"
    return None


def tool_of(client_name: str) -> str:
    """Return the tool that a client of the protocol is; empty if that is not known."""
    name = client_name.lower()
    return next((tool for begin, tool in _TOOLS.items() if name == begin or name.startswith(f"{begin}-")), "")


def caller_of(desk: Desk) -> Caller:
    """Return whose transcript is to be read in for a call."""
    named = named_session(desk.environment, desk.meta)
    if named is None:
        return Caller("", tool_of(desk.client_name), desk.project)
    return Caller(named[0], directories=desk.project, may_be_cleared=_SESSION in desk.environment)


async def own_session(desk: Desk) -> tuple[AgentInfo, str]:
    """Return the caller's own conversation, and why it is that one.

    Raises:
        ToolError: it is not known, or not here.
    """
    named = named_session(desk.environment, desk.meta)
    if named is not None:
        name, why = named
        found = await _imported(desk, name)
        if found is None:
            raise ToolError(
                f"your own session is {name} ({why}), and is not read in yet, or private; call again in a few"
                " seconds, or name a conversation"
            )
        return await _now(desk, found) if desk.environment.get(_SESSION) else (found, why)
    if not desk.project:
        raise ToolError("your own session is not known; name a conversation, as conversations prints it")
    rows = live_rows(await desk.written_here(), tool_of(desk.client_name), int(time.time() * 1000))
    where = desk.where(everywhere=False)
    if len(rows) == 1:
        ago = age(rows[0].said or rows[0].updated)
        said = "just now" if ago == "now" else f"{ago} ago"
        return await desk.find(rows[0].id), f"it is the one {where} that is being written, {said}"
    if not rows:
        raise ToolError(
            f"no conversation {where} was written in the last 15 minutes, so your own is not known;"
            " name one, as conversations prints it"
        )
    raise _none_of(rows)


async def _now(desk: Desk, named: AgentInfo) -> tuple[AgentInfo, str]:
    """Return the session of a window that had another one when it started the server, or still has that.

    Raises:
        ToolError: it is one of several.
    """
    found = await successors(desk, named)
    if not found:
        why = "Claude Code names it in the environment"
        return named, why if desk.is_newest else f"{why}; if it was cleared some seconds ago, call again"
    if len(found) > 1:
        raise _none_of(found)
    why = (
        f"it began with /clear after {named.name}, which Claude Code named at its start; what was cleared is there:"
        f" read(conversation={named.name!r})"
    )
    return await desk.find(found[0].id), why


def _none_of(rows: Sequence[AgentRow]) -> ToolError:
    names = " and ".join(row.name for row in rows[:2])
    return ToolError(f"both {names} may be your own session; call it again with the one that it is")


async def _imported(desk: Desk, name: str) -> AgentInfo | None:
    """Return the conversation that was imported under a name, even if it was renamed."""
    if found := await desk.look_up(name):
        return found
    page = await desk.list(tags={TAG: name}, limit=1)
    return await desk.find(page.agents[0].id) if page.agents else None
