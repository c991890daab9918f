"""A whole request of Chat Completions, read into the messages of a conversation."""

from typing import Any

from reeld.formats import metadata as native
from reeld.formats.content import shortest
from reeld.formats.fields import Json, Loaded, history_at, left_to_extra, map_at, role_at
from reeld.formats.model import ABOVE
from reeld.formats.openai import PROVIDER
from reeld.formats.openai_chat.assistant import message_of, with_ids
from reeld.formats.openai_chat.parts import blocks_of, text
from reeld.formats.pairing import Pairing
from reeld.formats.prompt import prompt_of

_API = "Chat Completions"


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
    messages = history_at(body.get("messages"), "messages", _API)
    reader = _Reader(body.get("model") or model)
    read = [reader.message(message, index) for index, message in enumerate(messages)]
    first = next((index for index, message in enumerate(messages) if message["role"] not in ABOVE), len(read))
    loaded = [*prompt_of(PROVIDER, read[:first]), *read[first:]]
    return Loaded(loaded, [*reader.pairing.report, *left_to_extra(body, ("messages", "model"))])


class _Reader:
    """Reads one message after the other; it pairs results with calls that have no id."""

    def __init__(self, model: str | None) -> None:
        self.pairing = Pairing()
        self._model = model

    def message(self, given: Any, index: int) -> Json:
        """Read the message that stands at an index."""
        where = f"messages[{index}]"
        message = map_at(given, where)
        role = role_at(message.get("role"), f"{where}.role", _API)
        if role == "assistant":
            return message_of(self._with_ids(message, index, where), where, self._model)
        if role == "tool":
            given = message.get("tool_call_id")
            name = None if given else message.get("name")  # an id tells by itself
            return _result(self.pairing.result(given, name, f"{where}.tool_call_id"), message, where)
        return _words(message, role, where)

    def _with_ids(self, message: Json, index: int, where: str) -> Json:
        """Give calls without an id one from their place; a call in the old form never has one."""
        if message.get("function_call") is not None:
            call = map_at(message["function_call"], f"{where}.function_call")
            made = self.pairing.call(f"function_{index}", call.get("name"), f"{where}.function_call")
            calls = [{"id": made, "type": "function", "function": call}]
            message = {**message, "tool_calls": calls, "function_call": None}
        return with_ids(
            message, lambda place, call: self._made(call, f"call_{index}_{place}", f"{where}.tool_calls[{place}]")
        )

    def _made(self, call: Json, made: str, where: str) -> str:
        tool = call.get("function")
        return self.pairing.call(made, tool.get("name") if type(tool) is dict else None, where)


def _words(message: Json, role: str, where: str) -> Json:
    """Read what the user, or somebody above the user, said."""
    above = {"role": role} if role in ABOVE else {}
    return {
        "role": "user",
        "content": blocks_of(message.get("content"), f"{where}.content") or [text("")],
        **native.keep(PROVIDER, {**message, "role": None, **above}, ("content",)),
    }


def _result(call_id: str, message: Json, where: str) -> Json:
    kept = native.keep(PROVIDER, message, ("role", "content", "tool_call_id", "name"))
    content = shortest(blocks_of(message.get("content"), f"{where}.content"))
    result = {"type": "tool_result", "tool_call_id": call_id, "content": content, "is_error": False, **kept}
    return {"role": "tool", "content": [result]}
