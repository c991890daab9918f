"""What a conversation asks a person: for an approval, or a question that interrupted a run; and what was decided.

Frameworks say so in ways of their own: in a block of an answer that asks, in a call of a tool that asks, or in a record
beside the conversation.
"""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.reading.wording import flat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from reel.said.messages import Event, Message

# The kinds of records that may say so.
KINDS = ("command", "note", "state")
# How many of the newest of these are looked at.
NEWEST = 50
# How the types of blocks end that ask for an approval, and that answer: those of OpenAI and of Microsoft's Agent
# Framework.
_ASKS, _ANSWERS = "approval_request", "approval_response"
# The tools of Google's ADK that ask, and for what.
_TOOLS = {
    "adk_request_confirmation": "asks for an approval",
    "adk_request_input": "asks a question",
    "adk_request_credential": "asks for a credential",
}
# The channels of LangGraph under which an interrupt and its answer are written.
_INTERRUPT, _RESUME = "__interrupt__", "__resume__"
# The keys of the state in which Strands Agents and OpenHands say so.
_STRANDS, _OPENHANDS = "strands:agent", "openhands:execution_status"
# How much of a question is told.
_TOLD = 200


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
    if name in _TOOLS:
        given = parsed(block["arguments"])
        original, hint = given.get("originalFunctionCall"), given.get("toolConfirmation")
        if type(original) is dict:
            question = _approval(call_id, str(original.get("name") or ""), original.get("args"))
            words = hint.get("hint") if type(hint) is dict else None
            return question._replace(text=words) if type(words) is str and words else question
        said = given.get("message")
        return Question(call_id, _TOOLS[name], "", said if type(said) is str else block["arguments"])
    if (block.get("provider_metadata") or {}).get("type") == f"mcp_{_ASKS}":
        return _approval(call_id, name, block["arguments"])
    return None


def _approval(call_id: str, tool: str, arguments: Any) -> Question:
    text = arguments if type(arguments) is str else "" if arguments is None else _json(arguments)
    return Question(call_id, "asks for an approval" + (f" of {tool}" if tool else ""), tool, text)


def decision_in(block: Mapping[str, Any], tool: str = "") -> Decision | None:
    """Return what a block decides; ``None`` if it decides nothing.

    Args:
        block: a block of a person's message, or the result of a call.
        tool: the tool whose result it is, if that is known.
    """
    if block["type"] == "tool_result":
        content = block["content"]
        if tool in _TOOLS:
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


def waiting(asked: str) -> str:
    """Return that a conversation waits for a person, and for what if anything names it."""
    return f"waiting for an approval{': ' if asked else ''}{flat(asked, _TOLD)}"


def asked_for(newest: Message | None, open_calls: Iterable[tuple[str, str]], records: Sequence[Event]) -> str | None:
    """Return what an approval is asked for, an empty text if nothing names it; ``None`` if nobody waits for one.

    Args:
        newest: the newest message.
        open_calls: the ids of the calls that have no result, and the names of their tools.
        records: the newest records that are live, the oldest first.
    """
    calls = dict(open_calls)
    asked = [*_in_blocks(newest, calls)] or ["" for name in calls.values() if name in _TOOLS]
    if not asked and records:
        data = [found for record in records if (found := _data(record))]
        asked = [*_interrupts([each["langgraph"] for each in data if type(each.get("langgraph")) is dict])]
        if calls:
            notes = [each["pydantic_ai_record"] for each in data if type(each.get("pydantic_ai_record")) is str]
            asked += _deferred(notes[-1]) if notes else ()
        values = {record["content"]: _value(_data(record)) for record in records if record["kind"] == "state"}
        asked += [*_suspended(values.get(_STRANDS)), *_unconfirmed(values.get(_OPENHANDS), calls.values())]
    return asked[0] if asked else None


def _in_blocks(message: Message | None, calls: Mapping[str, str]) -> Iterator[str]:
    if message is None or message["role"] != "assistant":
        return
    for block in message["content"]:
        question = question_in(block)
        if question is not None and (not question.call_id or question.call_id in calls):
            yield question.what


def told_in(event: Event) -> str | None:
    """Return what a record beside a conversation asks a person, or what was answered; ``None`` if it does neither."""
    found = _data(event).get("langgraph") if event["kind"] == "command" else None
    if type(found) is not dict:
        return None
    for _, channel, text in _rows(found):
        if channel == _INTERRUPT:
            return f"asks: {flat(question, _TOLD)}" if (question := _question(text)) else "asks a question"
        # The answer to all questions is written first, under a task that there is not, and then that to each.
        if channel == _RESUME and not str(found.get("task", "")).strip("0-"):
            answer = _resumed(text)
            return f"answered: {flat(answer, _TOLD)}" if answer else "answered"
    return None


def _interrupts(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the questions of the newest checkpoint of a graph that nobody has answered."""
    newest = next((found["put"] for found in reversed(records) if found.get("put") and found.get("ns") == ""), None)
    rows = [row for found in records if newest is not None and found.get("to") == newest for row in _rows(found)]
    if not any(channel == _RESUME for _, channel, _ in rows):
        yield from (_question(text) for _, channel, text in rows if channel == _INTERRUPT)


def _rows(record: dict[str, Any]) -> Iterator[list[Any]]:
    """Yield what a task of a graph has written: a number, the channel and the value."""
    writes = record.get("writes")
    for row in writes if type(writes) is list else ():
        if type(row) is list and len(row) == 3:  # noqa: PLR2004 - these three
            yield row


def _question(text: Any) -> str:
    """Return what an interrupt asks."""
    try:
        return _words(_loaded(text)[1][0]["$ext"][1][2]["value"])
    except (ValueError, TypeError, LookupError):
        return ""


def _resumed(text: Any) -> str:
    """Return what an interrupt was answered."""
    try:
        return _words(_loaded(text)[1])
    except (ValueError, TypeError, LookupError):
        return ""


def _words(value: Any) -> str:
    """Return a value in words; what only the serializer of a graph can read has none."""
    if type(value) is str:
        return value
    text = "" if value is None else _json(value)
    return "" if '"$' in text else text


def _deferred(text: str) -> Iterator[str]:
    requests = parsed(text).get("deferred_tool_requests")
    for call in (requests.get("approvals") if type(requests) is dict else None) or ():
        yield str(call.get("tool_name") or "") if type(call) is dict else ""


def _suspended(agent: Any) -> Iterator[str]:
    """Yield the questions of a suspended agent of Strands Agents."""
    own = agent.get("_internal_state") if type(agent) is dict else None
    state = own.get("interrupt_state") if type(own) is dict else None
    if type(state) is not dict or state.get("activated") is not True:
        return
    raised = state.get("interrupts")
    for each in raised.values() if type(raised) is dict else ():
        if type(each) is dict and each.get("response") is None:
            yield _words(each.get("reason")) or str(each.get("name") or "")


def _unconfirmed(status: Any, tools: Iterable[str]) -> Iterator[str]:
    """Yield the tool whose call OpenHands lets a person confirm."""
    if status == "waiting_for_confirmation":
        yield next(iter(tools), "")


def _data(record: Event) -> dict[str, Any]:
    return parsed(record["data_json"] or "{}")


def _value(data: dict[str, Any]) -> Any:
    """Return the value of a record of the state; a deep one is there as JSON."""
    text = data.get("value_json")
    return parsed(text) if type(text) is str else data.get("value")


def parsed(text: str) -> dict[str, Any]:
    """Return the object that a text is the JSON of; an empty one if it is anything else."""
    try:
        found = _loaded(text)
    except (ValueError, RecursionError):
        return {}
    return found if type(found) is dict else {}


def _loaded(text: str) -> Any:
    from json import loads  # noqa: PLC0415 - most conversations ask nothing

    return loads(text)


def _json(value: Any) -> str:
    from json import dumps  # noqa: PLC0415 - as above

    return dumps(value, ensure_ascii=False)
