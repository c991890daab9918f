"""Conversations in a dialect: the messages that are sent, checked, and what is reported."""

import json
from collections.abc import Sequence
from typing import Any

from reeld.formats.body import RenderRequest
from reeld.formats.ingest import read_response
from reeld.formats.render import render
from tests.formats.checker.chat_dialects import check_dialect
from tests.reeld.formats.histories import Json, call, entries_of, prompt_in, result, text, thinking, tool

CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def answer(message: Json, model: str, prefix: str | None = None) -> Json:
    """Return a message as it is ingested from a response, with the prefix of what it answers."""
    body = {"model": model, "choices": [{"message": {"role": "assistant", **message}, "finish_reason": "stop"}]}
    found: Json = read_response("openai-chat", json.dumps(body), prefix=prefix)[0]
    return found


def loop(words: str, *, model: str) -> list[Any]:
    """Return a call that some reasoning led to, its result, and the answer with reasoning of its own."""
    return [
        {"role": "assistant", "content": [thought(words, model), call()]},
        tool(result()),
        {"role": "assistant", "content": [thought(f"{words}!", model), text("Done")]},
    ]


def thought(words: str, model: str) -> Json:
    """Return reasoning of a server with the API of OpenAI's."""
    return thinking(words, None, "openai", model=model)


def chat(
    dialect: str, history: Sequence[Any], model: str | None = None, extra: Json | None = None
) -> tuple[list[Json], list[str]]:
    """Return the messages of a conversation and the reasons in the report; what is ready breaks no rule."""
    entries = entries_of(history)
    rendered, _ = render(RenderRequest("openai-chat", model, extra, dialect=dialect), entries, prompt_in(entries))
    body = json.loads(rendered.body)

    assert not rendered.ready or [] == check_dialect(dialect, body, model)
    messages: list[Json] = body["messages"]
    return messages, [change.why for change in rendered.report]
