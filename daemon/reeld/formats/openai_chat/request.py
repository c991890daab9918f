"""A whole request of Chat Completions, read into the messages of a conversation."""

from typing import Any

from reeld.formats import native
from reeld.formats.openai import PROVIDER
from reeld.formats.openai_chat.assistant import message_of
from reeld.formats.openai_chat.parts import blocks_of, text
from reeld.formats.prompting import prompt_of
from reeld.formats.reading import Json, Loaded, left_to_extra, list_at, map_at, refused, text_at
from reeld.formats.report import Change

_LEADING = ("system", "developer")


def load(body: Json, model: str | None = None) -> Loaded:
    """Read a request body.

    The system and developer messages that lead it become the prompt, later ones user messages that say so in
    ``provider_metadata.role``.

    Args:
        body: the whole object, with its ``messages``.
        model: who said what the assistant says, where the body does not say.

    Raises:
        InvalidMessage: something in it is no message; ``data.field`` is the place.
    """
    if "messages" not in body:
        raise refused("messages", "is missing; this is no request of Chat Completions")
    messages = list_at(body["messages"], "messages")
    if not messages:
        raise refused("messages", "is empty; there is nothing to load")
    reader = _Reader(body.get("model") or model)
    read = [reader.message(message, index) for index, message in enumerate(messages)]
    first = next((index for index, message in enumerate(messages) if message["role"] not in _LEADING), len(read))
    loaded = [*prompt_of(PROVIDER, read[:first]), *read[first:]]
    return Loaded(loaded, [*reader.report, *left_to_extra(body, ("messages", "model"))])


class _Reader:
    """Reads one message after the other; it knows the call that an old function message answers."""

    def __init__(self, model: str | None) -> None:
        self.report: list[Change] = []
        self._model = model
        self._called = ""

    def message(self, given: Any, index: int) -> Json:
        """Read the message that stands at an index."""
        where = f"messages[{index}]"
        message = map_at(given, where)
        role = message.get("role")
        if role == "assistant":
            return message_of(self._with_id(message, index), where, self._model)
        if role == "tool":
            return _result(text_at(message.get("tool_call_id"), f"{where}.tool_call_id"), message, where)
        if role == "function":
            return _result(self._called or where, message, where)
        if role == "user" or role in _LEADING:
            return _words(message, where)
        raise refused(f"{where}.role", f"{role!r} is no role of Chat Completions")

    def _with_id(self, message: Json, index: int) -> Json:
        """Give a call in the old form, which has no id, one from its place."""
        if message.get("function_call") is None:
            return message
        self._called = f"function_{index}"
        self.report.append(
            Change(None, None, "renamed", f"messages[{index}].function_call is now the call {self._called}")
        )
        call = {"id": self._called, "type": "function", "function": message["function_call"]}
        return {**message, "tool_calls": [call], "function_call": None}


def _words(message: Json, where: str) -> Json:
    """Read what the user, or somebody above the user, said."""
    role = message["role"]
    above = {"role": role} if role in _LEADING else {}
    return {
        "role": "user",
        "content": blocks_of(message.get("content"), f"{where}.content") or [text("")],
        **native.keep(PROVIDER, {**message, "role": None, **above}, ("content",)),
    }


def _result(call_id: str, message: Json, where: str) -> Json:
    blocks = blocks_of(message.get("content"), f"{where}.content")
    plain = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    content = blocks[0]["text"] if plain else blocks or ""
    kept = native.keep(PROVIDER, message, ("role", "content", "tool_call_id", "name"))
    return {
        "role": "tool",
        "content": [{"type": "tool_result", "tool_call_id": call_id, "content": content, "is_error": False, **kept}],
    }
