"""The rows that a call asks for, and simple provider bodies that produce them; tests/formats has the hard bodies."""

import json
from typing import Any

from tests.crash.history import Call, Command

FORMAT = "anthropic"

# The kind and the content of an event.
Row = tuple[str, str | None]


def answer(text: str) -> str:
    """Make the response of a provider."""
    content = [{"type": "text", "text": text}]
    return json.dumps({"role": "assistant", "content": content, "usage": {"input_tokens": 1}})


def request(system: str, question: str, reply: str) -> str:
    """Make a request with a history."""
    said = [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]
    return json.dumps({"system": system, "messages": said})


def wanted(call: Call) -> list[Row]:
    """Return the rows that a call asks for."""
    if call.method == "create":
        return [("system", text)] if (text := call.params.get("system")) else []
    if call.method == "add":
        return [("user", text) for text in call.params["messages"]]
    body = json.loads(call.params["body"])
    if call.method == "ingest":
        return [("assistant", body["content"][0]["text"]), ("usage", None)]
    return [("system", body["system"]), *((said["role"], said["content"]) for said in body["messages"])]


def changes(call: Call) -> dict[str, Any]:
    """Return the data of the event of a change; an empty title becomes null."""
    asked = {name: call.params.get(name) for name in ("name", "title", "tags")}
    return {name: value or (None if name == "title" else value) for name, value in asked.items() if value is not None}


def written(command: Command) -> list[Row]:
    """Return the rows that a command wrote, except `created`."""
    return [(event.kind, event.content) for event in command.events if event.kind != "created"]
