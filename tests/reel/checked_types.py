"""What a type checker accepts, and what it refuses before a program runs: `make types` reads it, and nobody runs it.

Each comment says which error mypy has to find on its line: one that it does not need is an error itself.
"""

import reel
from reel.said.messages import NewToolCallBlock


def messages(client: reel.Client, message: reel.NewMessage, call: NewToolCallBlock) -> None:
    """Add messages in every form, and some that are none."""
    client.add("demo", message)
    client.add("demo", {"role": "user", "content": "hi"})
    client.add("demo", ["hi", message, {"role": "user", "content": [{"type": "text", "text": "hi"}]}])
    client.add("demo", (word for word in ("a", "b")))
    client.add("demo", client.messages("demo").messages)
    client.add("demo", {"role": "assistant", "content": [call]})
    client.add("demo", {"role": "usr", "content": "hi"})  # type: ignore[arg-type]
    client.add("demo", [{"role": "usr", "content": "hi"}])  # type: ignore[list-item]
    client.add("demo", {"role": "user", "contents": "hi"})  # type: ignore[arg-type]
    client.add("demo", {"role": "user", "content": [{"type": "txt", "text": "hi"}]})  # type: ignore[arg-type]
    client.add("demo", 1)  # type: ignore[arg-type]


def calls() -> list[NewToolCallBlock]:
    """Make calls whose arguments are JSON text, or a map, and nothing else."""
    return [
        {"type": "tool_call", "id": "c", "name": "look", "arguments": "{}"},
        {"type": "tool_call", "id": "c", "name": "look", "arguments": {"x": 1}},
        {"type": "tool_call", "id": "c", "name": "look", "arguments": [1]},  # type: ignore[typeddict-item]
    ]
