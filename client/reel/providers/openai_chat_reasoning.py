"""Reading the reasoning that servers other than OpenAI's put beside the content of an answer, or into it."""

from typing import Any

from reel.base.strict_json import Json
from reel.providers.blocks import made_by
from reel.providers.elements import Element, invalid_at
from reel.providers.metadata import preserve_keys
from reel.providers.openai import PROVIDER

# What goes back in place of the text of a thought: an encrypted one has none.
KEPT_OF_THOUGHTS = ("reasoning_details", "thinking")
_PLAIN = {"type", "text"}


def read_reasoning(message: Element, model: str | None) -> tuple[list[Json], list[str]]:
    """Read the reasoning beside the content: ``reasoning_content``, ``reasoning`` and ``reasoning_details`` (rule D8).

    Args:
        message: the message.
        model: the model that wrote it, if it is known.

    Returns:
        at most one block, and the keys that it was made from.
    """
    text, details = message.text_or_none("reasoning_content"), message.get("reasoning_details")
    read = ["reasoning_content"]
    other = message.get("reasoning")
    if type(other) is str and (not text or text == other):
        text = other
        read.append("reasoning")
    if type(details) is list and details:
        read.append("reasoning_details")
    else:
        details = None
    if not text and details is None:
        return [], read
    return [thought(text, model, reasoning_details=details)], read


def thought(text: str, model: str | None, **kept: Any) -> Json:
    """Return a block of reasoning with the keys that go back with it."""
    return {"type": "thinking", "text": text, "provider": PROVIDER, **preserve_keys(PROVIDER, kept), **made_by(model)}


def thinking_part(part: Element, model: str | None) -> Json:
    """Read a part of the content that is reasoning, as Mistral has it (rule D14)."""
    inside = part.get("thinking")
    beside = {key: value for key, value in part.value.items() if key not in ("type", "thinking", "text")}
    if type(inside) is str:
        return thought(inside, model, **beside)
    if type(inside) is not list:
        raise invalid_at(part.at("thinking"), "expected a string or an array")
    texts = [piece["text"] for piece in inside if type(piece) is dict and type(piece.get("text")) is str]
    plain = all(type(piece) is dict and piece.keys() == _PLAIN for piece in inside) and len(texts) == len(inside)
    return thought("".join(texts), model, **beside, thinking=None if plain else inside)
