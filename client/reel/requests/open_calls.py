"""Reads the open calls of an agent with their arguments, in several requests: ``agent`` returns only their ids."""

from collections.abc import Generator
from typing import Any

from reel.requests.calls import Call
from reel.requests.queries import agent as agent_info
from reel.requests.queries import messages
from reel.said.tool_calls import ToolCall, calls_in


def read_open_calls(agent: str) -> Generator[Call[Any], Any, list[ToolCall]]:
    """Yield requests and receive their replies; return the calls.

    Args:
        agent: a name or an id.
    """
    info = yield agent_info(agent)
    ids = [call.id for call in info.open_calls]
    found: list[ToolCall] = []
    for seq in sorted({call.seq for call in info.open_calls}):
        page = yield messages(info.id, since=seq - 1, limit=1, at=info.head)
        found += calls_in(page.messages, ids)
    return found
