"""A whole request to Gemini's API, read into the messages of a conversation."""

from typing import Any

from reeld.formats.fields import Json, Loaded, entries_at, history_at, left_to_extra, map_at, role_at, text_at
from reeld.formats.gemini.content import block_of, camel, part_at, result_of
from reeld.formats.gemini.parts import PROVIDER
from reeld.formats.model import ABOVE, speakers
from reeld.formats.pairing import Pairing
from reeld.formats.prompt import prompt_of

_API = "Gemini's"


def load(body: Json, model: str | None = None) -> Loaded:
    """Read a request body.

    Args:
        body: the whole object, with its ``contents``.
        model: who said what the model says; the body has no place for it.

    Raises:
        InvalidMessage: something in it is no message; ``data.field`` is the place.
    """
    body = camel(body)
    contents = history_at(body.get("contents"), "contents", _API)
    made_by = model or body.get("model")
    reader = _Reader(made_by if isinstance(made_by, str) else None)
    loaded = [message for index, found in enumerate(contents) for message in reader.content(found, index)]
    beside = left_to_extra(body, ("contents", "systemInstruction", "model"))
    return Loaded([*_prompt(body.get("systemInstruction")), *loaded], [*reader.pairing.report, *beside])


def _prompt(instruction: Any) -> list[Json]:
    if not instruction:
        return []
    parts: list[Any] = [{"text": instruction}]
    if not isinstance(instruction, str):
        parts = entries_at(map_at(instruction, "systemInstruction").get("parts"), "systemInstruction.parts")
    content = []
    for index, part in enumerate(parts):
        where = f"systemInstruction.parts[{index}]"
        content.append({"type": "text", "text": text_at(part_at(part, where).get("text"), f"{where}.text")})
    metadata = {"provider": PROVIDER, "role": "system"}
    leading = [{"role": "user", "content": content, "provider_metadata": metadata}]
    return prompt_of(PROVIDER, leading) if content else []


class _Reader:
    """Reads one content after the other; it pairs responses with calls where either has no id."""

    def __init__(self, model: str | None) -> None:
        self.pairing = Pairing()
        self._model = model

    def content(self, value: Any, index: int) -> list[Json]:
        """Read the content at an index: a message for everybody who speaks in it."""
        where = f"contents[{index}]"
        found = camel(map_at(value, where))
        role = role_at(found.get("role") or "user", f"{where}.role", _API)
        above = {"provider_metadata": {"provider": PROVIDER, "role": role}} if role in ABOVE else {}
        speaker = "assistant" if role == "assistant" else "user"
        blocks = [
            self._block(part_at(part, f"{where}.parts[{number}]"), f"{where}.parts[{number}]", index, number, speaker)
            for number, part in enumerate(entries_at(found.get("parts"), f"{where}.parts"))
        ]
        return [{"role": who, "content": said, **above} for who, said in speakers(blocks, speaker)]

    def _block(self, part: Json, where: str, index: int, number: int, role: str) -> Json:
        if "functionResponse" in part:
            response = map_at(part["functionResponse"], f"{where}.functionResponse")
            place = f"{where}.functionResponse.id"
            return result_of(part, where, self.pairing.result(response.get("id"), response.get("name"), place))
        block = block_of(part, where, f"call_{index}_{number}", self._model if role == "assistant" else None)
        if block["type"] == "tool_call" and part["functionCall"].get("id"):
            self.pairing.called(block["id"], block["name"])
        elif block["type"] == "tool_call":
            self.pairing.call(block["id"], block["name"], f"{where}.functionCall")
        return block
