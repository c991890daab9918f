"""Who said a message, and how many tokens that took, as the framework that stored it says it.

A framework's own fields are in the form of the item that a message was added as (:mod:`reel.said.item_forms`).
"""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.reading.lazy_json import parsed
from reel.reading.wording import flat

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from reel.reading.tokens import Tokens
    from reel.said.messages import Event, Message

# The key of the form; the module that has it takes too long to import for a command that shows messages.
_ITEM = "item"
# Where an item has the name of who speaks: Google's ADK, Microsoft's Agent Framework, LangChain's messages, OpenHands.
_AUTHORS = ("author", "author_name", "name", "sender")
# Where it has the tokens: LangChain and the ADK, Pydantic AI and Strands Agents.
_USAGES = ("usage_metadata", "usage")
# Where it has the model: LangChain, Pydantic AI, the ADK, others.
_MODELS = ("model_name", "model_version", "model")
# What a framework calls those that need no name.
_ROLES = ("user", "model", "assistant", "agent", "tool", "environment")
# How much of a name is shown, in characters.
_LONGEST = 100


def speaker_of(message: Message) -> str:
    """Return the name of the agent, or of the person, that said a message; empty if nobody named it."""
    if message["role"] == "tool":
        return ""
    fields = _fields(message)
    name = _text(message, fields, _AUTHORS)
    return "" if name in _ROLES else flat(name, _LONGEST)


def tokens_of(message: Message) -> Tokens | None:
    """Return the tokens that an answer took; ``None`` if it was not stored with them."""
    if message["role"] != "assistant":
        return None
    if not (fields := _fields(message)):
        return None
    from reel.reading.tokens import tokens_in  # noqa: PLC0415 - most messages are no framework's

    return next((tokens for key in _USAGES if (tokens := tokens_in({"usage": fields.get(key)})) is not None), None)


class Answer(NamedTuple):
    """What an answer took: its tokens, its model if that is known, and what tells it from others, if anything does."""

    tokens: Tokens
    model: str
    mark: str


def answer_in(event: Event) -> Answer | None:
    """Return what an answer in a log took; ``None`` if it does not say so, or is damaged."""
    from reel.said.blocks import InvalidRecord  # noqa: PLC0415 - as above
    from reel.said.records import message_from_record  # noqa: PLC0415 - as above

    try:
        message = None if event.get("damaged") else message_from_record(event)
    except InvalidRecord:
        return None
    tokens = None if message is None else tokens_of(message)
    if message is None or tokens is None:
        return None
    fields, item = _fields(message), message["provider_metadata"][_ITEM]
    more = fields.get("response_metadata")
    places = (fields, more if type(more) is dict else {})
    model = next((name for place in places if (name := _text(message, place, _MODELS))), "")
    return Answer(tokens, model, str(item.get("check") or ""))


def _text(message: Message, fields: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """Return the first of some fields that is a text, with references resolved; an empty text if none is."""
    text = next((text for key in keys if type(text := fields.get(key)) is str and text), "")
    if text[:1] != "@":
        return text
    from reel.said.item_forms import item_from, texts_of  # noqa: PLC0415 - most are no references to what was said

    try:
        return str(item_from(text, texts_of([dict(message)])))
    except ValueError:
        return ""


def _fields(message: Message) -> Mapping[str, Any]:
    """Return the fields of a message that only its framework has."""
    item = (message.get("provider_metadata") or {}).get(_ITEM)
    if type(item) is not dict:
        return {}
    form, text = item.get("form"), item.get("form_json")
    if type(text) is str:
        form = parsed(text)
    if type(form) is not dict:
        return {}
    # A graph's messages have theirs below the name of their class; those of Strands Agents are in a message.
    inner = form.get("fields", form.get("message"))
    if type(inner) is not dict:
        return form
    metadata = inner.get("metadata")
    return {**inner, **(metadata if type(metadata) is dict else {})}
