"""The prompt ``recall``, for clients in which a person asks for it: what was said about something, and how to go on."""

from __future__ import annotations

from typing import Any

from reel.mcp.answers.answer import beginning
from reel.mcp.protocol.frames import INVALID_PARAMS, ProtocolError
from reel.mcp.tools.arguments import Arguments, ToolError
from reel.mcp.tools.desk import Desk
from reel.mcp.tools.search import search

_TOPIC = 200
RECALL = {
    "name": "recall",
    "title": "Recall what was said",
    "description": "Look up what was said about something in earlier conversations of this project, and use it",
    "arguments": [
        {"name": "topic", "description": "Words that were said, such as a name or an error", "required": True}
    ],
}


async def recall(desk: Desk, state: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the prompt, with the first hits in it.

    Args:
        desk: what it works with.
        state: the line about what is not read in yet, if any.
        params: those of the request.

    Raises:
        ProtocolError: there is no such prompt, or it has no topic.
    """
    given = params.get("arguments")
    topic = given.get("topic") if isinstance(given, dict) else None
    if params.get("name") != RECALL["name"] or not isinstance(topic, str) or not topic.strip():
        raise ProtocolError(INVALID_PARAMS, "the prompt is recall, with words as its topic")
    try:
        found = (await search(desk, Arguments("search", {"query": topic}, {"query": {}}))).text
    except ToolError as error:
        found = str(error)
    text = (
        f"Recall what was said in earlier conversations about: {beginning(topic, _TOPIC)}\n\n{found}{state}\n\n"
        "Read around the hits that matter with the tool read of the server reel, search with other words if none does,"
        " and say in a few sentences what was said, decided and why, with NAME #SEQ of each source."
    )
    return {
        "description": RECALL["description"],
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }
