"""Whether a conversation waits for a person's approval, or for the answer to a question that interrupted a run.

Frameworks say so in ways of their own: in a block of an answer that asks, in a call of a tool that asks, or in a record
beside the conversation.
"""

from __future__ import annotations

import json
from contextlib import suppress

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from reel.said.messages import Event, Message

# The kinds of records that may say so.
KINDS = ("command", "note")
# How the types of blocks end that ask for an approval: those of OpenAI and of Microsoft's Agent Framework.
_ASKS = "approval_request"
# The tools of Google's ADK that ask.
_TOOLS = frozenset({"adk_request_confirmation", "adk_request_input", "adk_request_credential"})
# The channels of LangGraph under which an interrupt and its answer are written.
_INTERRUPT, _RESUME = "__interrupt__", "__resume__"


def asked_for(newest: Message | None, open_calls: Iterable[str], records: Sequence[Event]) -> str | None:
    """Return what an approval is asked for, an empty text if nothing names it; ``None`` if nobody waits for one.

    Args:
        newest: the newest message.
        open_calls: the names of the tools whose calls have no result.
        records: the newest records that are live, the oldest first.
    """
    waiting = [*open_calls]
    asked = [*_in_blocks(newest), *("" for name in waiting if name in _TOOLS)]
    if not asked and records:
        data = [found for record in records if (found := _data(record))]
        asked = [*_interrupts([each["langgraph"] for each in data if type(each.get("langgraph")) is dict])]
        if waiting:
            notes = [each["pydantic_ai_record"] for each in data if type(each.get("pydantic_ai_record")) is str]
            asked += _deferred(notes[-1]) if notes else ()
    return asked[0] if asked else None


def _in_blocks(message: Message | None) -> Iterator[str]:
    if message is None or message["role"] != "assistant":
        return
    for block in message["content"]:
        if block["type"] == "opaque":
            found = _parsed(block["data_json"])
            if str(found.get("type", "")).endswith(_ASKS):
                call = found.get("function_call")
                yield str((call if type(call) is dict else found).get("name") or "")


def _interrupts(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the questions of the newest checkpoint of a graph that nobody has answered."""
    newest = next((found["put"] for found in reversed(records) if found.get("put") and found.get("ns") == ""), None)
    rows = [
        row
        for found in records
        if newest is not None and found.get("to") == newest and type(found.get("writes")) is list
        for row in found["writes"]
        if type(row) is list and len(row) == 3  # noqa: PLR2004 - a number, the channel and the value
    ]
    if not any(channel == _RESUME for _, channel, _ in rows):
        yield from (_question(text) for _, channel, text in rows if channel == _INTERRUPT)


def _question(text: Any) -> str:
    """Return what an interrupt asks, if it is words."""
    with suppress(ValueError, TypeError, LookupError):
        value = json.loads(text)[1][0]["$ext"][1][2]["value"]
        return value if type(value) is str else ""
    return ""


def _deferred(text: str) -> Iterator[str]:
    requests = _parsed(text).get("deferred_tool_requests")
    for call in (requests.get("approvals") if type(requests) is dict else None) or ():
        yield str(call.get("tool_name") or "") if type(call) is dict else ""


def _data(record: Event) -> dict[str, Any]:
    return _parsed(record["data_json"] or "{}")


def _parsed(text: str) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        found = json.loads(text)
        return found if type(found) is dict else {}
    return {}
