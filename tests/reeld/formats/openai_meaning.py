"""What a request to OpenAI means, without what means nothing."""

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
# Whose ids the API has no need of: they are left out.
NAMELESS = (
    *("message", "reasoning", "function_call", "custom_tool_call", "tool_search_call", "tool_search_output"),
    *("compaction", "additional_tools"),
)
STATELESS = ("message", "reasoning", "function_call")
OWN = ("role", "type")


def openai_chat(body: Json) -> Any:
    """Nulls and citations say nothing, nor does a blank message; one plain text part is its text.

    An id is what it pairs: how many calls were made before it.
    """
    said = []
    ids: dict[str, int] = {}
    for message in body["messages"]:
        found = {key: value for key, value in message.items() if value is not None and key != "annotations"}
        found["content"] = _content(found.get("content"))
        calls = [{**call, "id": _numbered(ids, call["id"])} for call in found.get("tool_calls", [])]
        if calls:
            found["tool_calls"] = calls
        if found["role"] == "tool":
            found["tool_call_id"] = ids[found["tool_call_id"]]
        if calls or found["role"] == "tool" or _is_something(found["content"]):
            said.append(found)
    return said


def openai_responses(body: Json) -> Any:
    """A system message that leads is the instructions; ids and states that only answers have say nothing.

    Nor does reasoning that only the server has kept, or a blank message.
    """
    instructions = [{"role": "system", "content": body["instructions"]}] if body.get("instructions") else []
    ids: dict[str, int] = {}
    return [found for item in [*instructions, *body["input"]] for found in _item(item, ids)]


def _item(item: Json, ids: dict[str, int]) -> Iterator[Json]:
    kind = item.get("type", "message")
    left_out = {"id"} if kind in NAMELESS else set()
    left_out |= {"status"} if kind in STATELESS else set()
    found = {**{key: value for key, value in item.items() if key not in left_out}, "type": kind}
    if isinstance(found.get("call_id"), str):
        found["call_id"] = _numbered(ids, found["call_id"]) if kind.endswith("_call") else ids[found["call_id"]]
    if kind == "message":
        found["content"] = _content(item["content"])
    if kind == "reasoning" and not item.get("encrypted_content"):
        return
    if kind != "message" or _is_something(found["content"]):
        yield found


def _numbered(ids: dict[str, int], name: str) -> int:
    """Return the next number to a call, and note it as what its id now means."""
    ids[name] = ids.pop("", 0)
    ids[""] = ids[name] + 1
    return ids[name]


def _content(content: Any) -> Any:
    """Empty lists of citations say nothing."""
    if not isinstance(content, list):
        return content
    parts = [{key: value for key, value in part.items() if value != []} for part in content]
    return parts[0]["text"] if len(parts) == 1 and len(parts[0]) == len(OWN) and "text" in parts[0] else parts


def _is_something(content: Any) -> bool:
    return bool(content.strip() if isinstance(content, str) else content)
