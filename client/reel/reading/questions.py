"""The blocks of a conversation that ask a person, for an approval or something else, and those that answer."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.reading.lazy_json import dumped, parsed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# How the types of blocks end that ask for an approval, and that answer: those of OpenAI and of Microsoft's Agent
# Framework.
_ASKS, _ANSWERS = "approval_request", "approval_response"
# The tools of Google's ADK that ask, and for what.
TOOLS = {
    "adk_request_confirmation": "asks for an approval",
    "adk_request_input": "asks a question",
    "adk_request_credential": "asks for a credential",
}


class Question(NamedTuple):
    """A block that asks a person.

    Args:
        call_id: its id if it is a call; else empty.
        words: that it asks, and for what.
        what: the tool whose call is to be approved, if that is known.
        text: what that is called with, or what is asked.
    """

    call_id: str
    words: str
    what: str
    text: str


class Decision(NamedTuple):
    """A block that answers.

    Args:
        words: what was decided.
        text: why, if anybody said so.
    """

    words: str
    text: str


def question_in(block: Mapping[str, Any]) -> Question | None:
    """Return what a block of an answer asks a person; ``None`` if it asks nothing."""
    if block["type"] == "tool_call":
        return _called(block)
    if block["type"] != "opaque" or _ASKS not in block["data_json"]:
        return None
    found = parsed(block["data_json"])
    if not str(found.get("type", "")).endswith(_ASKS):
        return None
    call = found.get("function_call")
    asked = call if type(call) is dict else found
    return _approval("", str(asked.get("name") or ""), asked.get("arguments"))


def _called(block: Mapping[str, Any]) -> Question | None:
    call_id, name = block["id"], block["name"]
    if name in TOOLS:
        given = parsed(block["arguments"])
        original, hint = given.get("originalFunctionCall"), given.get("toolConfirmation")
        if type(original) is dict:
            question = _approval(call_id, str(original.get("name") or ""), original.get("args"))
            words = hint.get("hint") if type(hint) is dict else None
            return question._replace(text=words) if type(words) is str and words else question
        said = given.get("message")
        return Question(call_id, TOOLS[name], "", said if type(said) is str else block["arguments"])
    if (block.get("provider_metadata") or {}).get("type") == f"mcp_{_ASKS}":
        return _approval(call_id, name, block["arguments"])
    return None


def _approval(call_id: str, tool: str, arguments: Any) -> Question:
    text = arguments if type(arguments) is str else "" if arguments is None else dumped(arguments)
    return Question(call_id, "asks for an approval" + (f" of {tool}" if tool else ""), tool, text)


def decision_in(block: Mapping[str, Any], tool: str = "") -> Decision | None:
    """Return what a block decides; ``None`` if it decides nothing.

    Args:
        block: a block of a person's message, or the result of a call.
        tool: the tool whose result it is, if that is known.
    """
    if block["type"] == "tool_result":
        content = block["content"]
        if tool in TOOLS:
            said = content if type(content) is str else ""
            confirmed = parsed(said).get("confirmed")
            return Decision("answered", said) if type(confirmed) is not bool else Decision(_decided(confirmed, ""), "")
        inner = (decision_in(each) for each in content) if type(content) is list else ()
        return next((found for found in inner if found is not None), None)
    if block["type"] != "opaque" or _ANSWERS not in block["data_json"]:
        return None
    found = parsed(block["data_json"])
    approved = found.get("approved", found.get("approve"))
    if not str(found.get("type", "")).endswith(_ANSWERS) or type(approved) is not bool:
        return None
    call, why = found.get("function_call"), found.get("reason")
    name = call.get("name") if type(call) is dict else ""
    return Decision(_decided(approved, str(name or "")), why if type(why) is str else "")


def _decided(approved: bool, tool: str) -> str:  # noqa: FBT001 - what was decided
    return " ".join(filter(None, ("approved" if approved else "refused", tool)))
