"""Which conversations are going on now: those in which something was said in the last minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reel.replies import AgentRow

# How long ago the last words of a conversation that goes on may be, in milliseconds.
LIVE = 15 * 60_000


def live_rows(rows: Iterable[AgentRow], tool: str, now: int) -> list[AgentRow]:
    """Return the conversations that go on now, without those of sub-agents, the newest first.

    Args:
        rows: the conversations of the directory.
        tool: the tool that calls; empty if that is not known.
        now: the time, in milliseconds since the epoch.
    """
    held = [
        row
        for row in rows
        if "parent" not in row.tags
        and (not tool or row.tags.get("tool") == tool)
        and now - (row.said or row.updated) <= LIVE
    ]
    return sorted(held, key=lambda row: -(row.said or row.updated))
