"""Converts events of the OpenHands SDK to messages of the protocol, and such messages to events.

Both are JSON: the framework's is the output of its ``model_dump_json``. The importer of OpenHands' conversations reads
the same events, so that a conversation looks alike however it came here.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from reel.importing.sources.blocks import fitting
from reel.importing.tools.openhands.events import FIELDS, NAME, read_blocks, says_nothing
from reel.providers.content import texts_of
from reel.providers.metadata import opaque_block
from reel.providers.refusals import Refusals
from reel.providers.roles import split_by_role

Json = dict[str, Any]

PROMPT: Final = "SystemPromptEvent"
# An event that reports a state; nothing follows it.
UPDATE: Final = "ConversationStateUpdateEvent"
# What is told of an event without words, if it has it.
_TOLD: Final = ("kind", "key", "value", "reason", "detail")
# How much of that is told: some have the whole state.
_LONGEST: Final = 200


def messages_of(event: Json) -> list[Any]:
    """Convert an event to messages of the protocol, at least one.

    An event without words becomes an ``opaque`` block, which is not sent to any provider.
    """
    kind, refusals = event.get("kind"), Refusals(NAME)
    speaker = "assistant" if event.get("source") == "agent" else "user"
    blocks = [] if kind == PROMPT or kind not in FIELDS or says_nothing(event) else read_blocks(event, refusals, "")
    by_role = split_by_role(blocks or [_without_words(event)], speaker)
    return [
        {"role": holder, "content": [fitting(block, holder, refusals) for block in found]} for holder, found in by_role
    ]


def prompt_in(event: Json) -> str | None:
    """Return the system prompt that an event sets, if it sets one."""
    if event.get("kind") != PROMPT or says_nothing(event):
        return None
    return "\n\n".join(block["text"] for block in read_blocks(event, Refusals(NAME), ""))


def _without_words(event: Json) -> Json:
    told = {key: event[key] for key in _TOLD if isinstance(event.get(key), str)}
    return opaque_block(NAME, {key: text[:_LONGEST] for key, text in told.items()})


def events_of(found: Json) -> list[Json]:
    """Convert a foreign message to events; none if nothing in it is readable for the framework.

    A message of the assistant with calls becomes an event for each call, of one response.

    Args:
        found: an item of another client: the message, its seq and its time.
    """
    message = found["message"]
    content = [dict(block) for block in message["content"]]
    made: list[Json] = []
    if message["role"] == "tool":
        made = [_result(block) for block in content if block["type"] == "tool_result"]
    elif calls := [block for block in content if block["type"] == "tool_call"]:
        thought = [{"type": "text", "text": block["text"]} for block in content if block["type"] == "text"]
        made = [_call(block, [] if number else thought, _id(found, 0)) for number, block in enumerate(calls)]
    elif parts := [*_parts(content)]:
        source = "agent" if message["role"] == "assistant" else "user"
        said = {"role": message["role"], "content": parts}
        made = [{"kind": "MessageEvent", "source": source, "llm_message": said}]
    time = datetime.fromtimestamp((found.get("sent") or found["time"]) / 1000).isoformat()  # noqa: DTZ006 - as theirs
    return [{**event, "id": _id(found, number), "timestamp": time} for number, event in enumerate(made)]


def _id(found: Json, number: int) -> str:
    """Return the id of an event: what the framework takes for one in the name of a file, and always the same."""
    return f"{found['seq']:08x}-{found['time']:012x}-{number:04x}"


def _call(block: Json, thought: list[Json], response: str) -> Json:
    call = {"id": block["id"], "name": block["name"], "arguments": block["arguments"], "origin": "completion"}
    named = {"tool_name": block["name"], "tool_call_id": block["id"], "tool_call": call}
    return {"kind": "ActionEvent", "source": "agent", "thought": thought, "llm_response_id": response, **named}


def _result(block: Json) -> Json:
    """Return the event with the result of a tool that the framework did not run, so that it knows no class for it."""
    text = block["content"] if isinstance(block["content"], str) else texts_of(block["content"])
    named = {"tool_name": "tool", "tool_call_id": block["tool_call_id"]}
    return {"kind": "AgentErrorEvent", "source": "agent", "error": text, **named}


def _parts(content: list[Json]) -> Iterator[Json]:
    for block in content:
        if block["type"] == "text":
            yield {"type": "text", "text": block["text"]}
        elif block["type"] == "media" and block["mime_type"].startswith("image/"):
            data = block.get("data_base64")
            url = block["url"] if data is None else f"data:{block['mime_type']};base64,{data}"
            yield {"type": "image", "image_urls": [url]}


def calls_in(event: Json) -> list[str]:
    """Return the id of the call that an event makes."""
    return [event["tool_call_id"]] if event.get("kind") == "ActionEvent" else []


def results_in(event: Json) -> list[str]:
    """Return the id of the call that an event answers."""
    is_result = event.get("kind") in ("ObservationEvent", "UserRejectObservation", "AgentErrorEvent")
    return [event["tool_call_id"]] if is_result else []


def is_prompt(event: Json) -> bool:
    """Whether an event is a message of the user."""
    return event.get("kind") == "MessageEvent" and event.get("source") == "user"


def text_of(event: Json) -> str:
    """Return the JSON of an event as it is in a file."""
    return json.dumps(event, ensure_ascii=False)
