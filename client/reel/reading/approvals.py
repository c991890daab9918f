"""What a conversation waits for, if a run waits for a person: an approval, or the answer to a question.

Frameworks say so in ways of their own: in a block of an answer that asks, in a call of a tool that asks, or in a record
beside the conversation.
"""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.reading.lazy_json import dumped, loaded, parsed
from reel.reading.questions import TOOLS, question_in
from reel.reading.wording import flat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from reel.said.messages import Event, Message

# The kinds of records that may say so.
KINDS = ("command", "note", "state")
# How many of the newest of these are looked at, and how far before the newest message: a conversation without any is
# not read whole for it; a million messages took 0.6 s.
NEWEST, BEFORE = 50, 1_000
# In how many of the newest messages a question is looked for: results of the calls that it is about may follow it.
MESSAGES = 10
# What is in the data of a call that asks, and of a record that asks about an open call.
IN_CALLS, IN_RECORDS = ("adk_request_", "approval_request"), ("deferred_tool_requests", "waiting_for_confirmation")
# The channels of LangGraph under which an interrupt and its answer are written.
_INTERRUPT, _RESUME = "__interrupt__", "__resume__"
# The keys of the state in which Strands Agents and OpenHands say so.
_STRANDS, _OPENHANDS = "strands:agent", "openhands:execution_status"
# How much of a question is told.
_TOLD = 200


def looked_at_after(newest: int) -> int:
    """Return after which seq such records are looked for.

    Args:
        newest: the seq of the newest message; 0 for a conversation without messages.
    """
    return max(newest - BEFORE, 0)


def waiting(asked: str) -> str:
    """Return that a conversation waits for a person, and for what if anything names it."""
    return f"waiting for an approval{': ' if asked else ''}{flat(asked, _TOLD)}"


def asked_for(newest: Sequence[Message], open_calls: Iterable[tuple[str, str]], records: Sequence[Event]) -> str | None:
    """Return what an approval is asked for, an empty text if nothing names it; ``None`` if nobody waits for one.

    Args:
        newest: the newest messages, the oldest first, :data:`MESSAGES` if there are so many.
        open_calls: the ids of the calls that have no result, and the names of their tools.
        records: the newest records that are live, the oldest first.
    """
    calls = dict(open_calls)
    records = [record for record in records if not record.get("damaged")]
    asked = [*_in_blocks(newest, calls)] or ["" for name in calls.values() if name in TOOLS]
    if not asked and records:
        data = [found for record in records if (found := _data(record))]
        asked = [*_interrupts([each["langgraph"] for each in data if type(each.get("langgraph")) is dict])]
        if calls:
            notes = [each["pydantic_ai_record"] for each in data if type(each.get("pydantic_ai_record")) is str]
            asked += _deferred(notes[-1]) if notes else ()
        values = {record["content"]: _value(_data(record)) for record in records if record["kind"] == "state"}
        asked += [*_suspended(values.get(_STRANDS)), *_unconfirmed(values.get(_OPENHANDS), calls.values())]
    return asked[0] if asked else None


def _in_blocks(messages: Sequence[Message], calls: Mapping[str, str]) -> Iterator[str]:
    """Yield what is asked for, the newest first; a block without an id asks as long as nothing follows it."""
    for message in reversed(messages):
        for block in message["content"] if message["role"] == "assistant" else ():
            if (question := question_in(block)) is None:
                continue
            if question.call_id in calls if question.call_id else message is messages[-1]:
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


def step_of(event: Event) -> tuple[str, str]:
    """Return the id of the checkpoint of a graph that a record is, and of the one that it follows; else empty texts.

    Ids ascend with the steps. A question may be written before the checkpoint that it follows.
    """
    found = _data(event).get("langgraph") if event["kind"] == "command" else None
    made, follows = (str(found.get(key) or "") for key in ("put", "to")) if type(found) is dict else ("", "")
    return made, follows


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
        return _words(loaded(text)[1][0]["$ext"][1][2]["value"])
    except (ValueError, TypeError, LookupError):
        return ""


def _resumed(text: Any) -> str:
    """Return what an interrupt was answered."""
    try:
        return _words(loaded(text)[1])
    except (ValueError, TypeError, LookupError):
        return ""


def _words(value: Any) -> str:
    """Return a value in words; what only the serializer of a graph can read has none."""
    if type(value) is str:
        return value
    text = "" if value is None else dumped(value)
    return "" if '"$' in text else text


def _deferred(text: str) -> Iterator[str]:
    requests = parsed(text).get("deferred_tool_requests")
    asked = requests.get("approvals") if type(requests) is dict else None
    for call in asked if type(asked) is list else ():
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
