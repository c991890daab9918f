"""What a call asks to be said, and the bodies of a provider that say it; hard ones are tested with the formats."""

import json
from typing import Any

from tests.crash.history import Call, Command

FORMAT = "anthropic"

# The kind and the content of an event.
Row = tuple[str, str | None]


def answer(text: str) -> str:
    """Make what a provider answers."""
    content = [{"type": "text", "text": text}]
    return json.dumps({"role": "assistant", "content": content, "usage": {"input_tokens": 1}})


def request(system: str, question: str, reply: str) -> str:
    """Make a request with a history."""
    said = [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]
    return json.dumps({"system": system, "messages": said})


def wanted(call: Call) -> list[Row]:
    """Give the rows that a call asks for."""
    if call.method == "create":
        return [("system", text)] if (text := call.params.get("system")) else []
    if call.method == "add":
        return [("user", text) for text in call.params["messages"]]
    body = json.loads(call.params["body"])
    if call.method == "ingest":
        return [("assistant", body["content"][0]["text"]), ("usage", None)]
    return [("system", body["system"]), *((said["role"], said["content"]) for said in body["messages"])]


def changes(call: Call) -> dict[str, Any]:
    """Give what a change asks for, as its event has it: an empty title is none."""
    asked = {name: call.params.get(name) for name in ("name", "title", "tags")}
    return {name: value or (None if name == "title" else value) for name, value in asked.items() if value is not None}


def written(command: Command) -> list[Row]:
    """Give the rows that a command wrote, its agent's beginning left out."""
    return [(event.kind, event.content) for event in command.events if event.kind != "created"]
