"""The tools, with what a model is told of them.

Some agents list only the names and first words, and load the rest when they look for a tool: the first sentence says
when to use it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from reel.base.light_typing import NamedTuple
from reel.mcp.answers.answer import DEFAULT_BUDGET, MAX_BUDGET, MIN_BUDGET, Answer
from reel.mcp.tools.arguments import Arguments
from reel.mcp.tools.conversations import conversations
from reel.mcp.tools.desk import Desk
from reel.mcp.tools.lost import lost
from reel.mcp.tools.note import note
from reel.mcp.tools.read import read
from reel.mcp.tools.search import search

Schema: TypeAlias = dict[str, Any]

INSTRUCTIONS = (
    "The record of earlier conversations with coding agents on this machine (Claude Code, Codex and others), with all"
    " that was compacted, cleared or rewound. Look here when work goes on that was begun before, after a compaction"
    " (lost), and before asking a person what was decided or why (search, then read). Cite what you use as NAME #SEQ."
)


class Tool(NamedTuple):
    """A tool.

    Args:
        name: its name.
        title: its name for people.
        description: what a model is told.
        parameters: the schemas of its parameters, by their names.
        required: the parameters without which it cannot be called.
        answer: answers a call.
        writes: whether it changes something.
    """

    name: str
    title: str
    description: str
    parameters: dict[str, Schema]
    required: tuple[str, ...]
    answer: Callable[[Desk, Arguments], Awaitable[Answer]]
    writes: bool = False

    def as_map(self) -> dict[str, Any]:
        """Return the tool as a client is told of it."""
        schema = {"type": "object", "properties": self.parameters, "required": list(self.required)}
        hints = {
            "title": self.title,
            "readOnlyHint": not self.writes,
            "destructiveHint": False,
            "idempotentHint": not self.writes,
            "openWorldHint": False,
        }
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": {**schema, "additionalProperties": False},
            "annotations": hints,
        }


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def _flag(description: str) -> Schema:
    return {"type": "boolean", "description": description}


_CURSOR = _text("Goes on where an earlier answer says; pass it unchanged.")
_EVERYWHERE = _flag("All projects, not only this one.")
_THINKING = _flag("Also show what models thought.")
_BUDGET = {
    "type": "integer",
    "minimum": MIN_BUDGET,
    "maximum": MAX_BUDGET,
    "description": f"Bytes of the answer, {DEFAULT_BUDGET:,} if omitted.",
}
_CONVERSATION = _text("Its name, as search and conversations print it.")
_OWN = _text("Its name; your own session if omitted.")

TOOLS = (
    Tool(
        "search",
        "Search earlier conversations",
        "Search earlier conversations: find what was said, decided, tried or printed before, by people, agents and"
        " tools, in this project (or everywhere), also what was compacted or cleared. Gives hits with conversation,"
        " seq, date, role and a snippet; then use read. Use few, distinctive words: hits with all of them come first."
        ' Also +word (must occur), "a phrase", one OR other, -without, begin*, role:user, agent:NAME,'
        " after:2026-11-01, before:2026-12, live:no (no longer in its conversation).",
        {
            "query": _text('Words that were said, such as: port 8124 OR "retry limit"'),
            "everywhere": _EVERYWHERE,
            "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "Most hits, 12 if omitted."},
            "thinking": _THINKING,
            "cursor": _CURSOR,
            "budget": _BUDGET,
        },
        ("query",),
        search,
    ),
    Tool(
        "read",
        "Read an earlier conversation",
        "Read a part of an earlier conversation: around a message (seq, as search prints it), on from a cursor, or its"
        " newest messages. Long results are shortened in the middle, and say how to read the rest.",
        {
            "conversation": _CONVERSATION,
            "seq": {"type": "integer", "minimum": 1, "description": "The message to read around."},
            "cursor": _CURSOR,
            "budget": _BUDGET,
            "thinking": _THINKING,
        },
        ("conversation",),
        read,
    ),
    Tool(
        "conversations",
        "List earlier conversations",
        "List earlier conversations of this project (or everywhere), the newest first, with date, length and title.",
        {
            "query": _text("Words of the name, title or tags, such as the tool (codex) or a branch."),
            "everywhere": _EVERYWHERE,
            "cursor": _CURSOR,
            "budget": _BUDGET,
        },
        (),
        conversations,
    ),
    Tool(
        "lost",
        "Read what a compaction dropped",
        "Read what the last compaction, clear or rewind dropped from a conversation, from its end backwards: use it"
        " after your context was compacted or summarized, to get details back that the summary lacks.",
        {"conversation": _OWN, "cursor": _CURSOR, "budget": _BUDGET},
        (),
        lost,
    ),
    Tool(
        "note",
        "Keep a remark",
        "Keep a remark in a conversation, such as a decision and its reason, so that the next reader finds it.",
        {"conversation": _OWN, "text": _text("The remark, in a sentence or two.")},
        ("text",),
        note,
        writes=True,
    ),
)
