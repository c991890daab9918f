"""Reads requests and responses of Chat Completions: both have the same messages."""

from reel.base.strict_json import Json
from reel.providers.elements import Element, invalid_at, require_list, require_map
from reel.providers.openai import PROVIDER
from reel.providers.openai_chat import read_answer, read_message
from reeld.formats.fields import (
    LoadedRequest,
    Response,
    error_message,
    history_of,
    id_prefix,
    raise_provider_error,
    usage_in,
)
from reeld.formats.history_builder import HistoryBuilder

_API = "Chat Completions"
# The keys of a response that are read, or say nothing about the answer.
_READ = ("id", "object", "model", "choices", "usage", "index", "message", "finish_reason", "error")


def read_request(body: Json, model: str | None = None) -> LoadedRequest:
    """Read a request body.

    Args:
        body: the whole object, with its ``messages``.
        model: the model that wrote the assistant's messages, if the body does not name it.

    Raises:
        InvalidMessage: something in it is not a message; ``data.field`` is the place.
    """
    builder = HistoryBuilder(PROVIDER, body.get("model"), model)
    for index, message in enumerate(history_of(body, "messages", _API)):
        read_message(builder, message, f"{index}_")
    return builder.loaded(body, ("messages", "model"))


def read_response(body: Json, model: str | None = None) -> Response:
    """Read a response body.

    Args:
        body: the whole object, with its ``choices``.
        model: the model that answered, if the body does not name it.

    Raises:
        InvalidMessage: the body has no answer, or several; ``data.field`` is the place.
    """
    raise_provider_error(body)
    choice = _only_choice(body)
    builder = HistoryBuilder(PROVIDER, body.get("model"), model, made=id_prefix(body, "id"))
    read_answer(builder, Element(choice, "choices[0]").inside("message"), "")
    # In this form, routers report a failure of the provider behind them (rule X14).
    failed = choice.get("error")
    return builder.answer(
        {**body, **choice},
        _READ,
        broke_off=None if failed is None else f"the provider said: {error_message(failed)}",
        response_id=body.get("id"),
        finish_reason=choice.get("finish_reason"),
        usage=usage_in(body),
    )


def _only_choice(body: Json) -> Json:
    """Return the one answer; taking the first of several would silently lose the others (rule X14)."""
    if "choices" not in body:
        raise invalid_at("choices", f"is missing; a response of {_API} has them")
    choices = require_list(body["choices"], "choices")
    if not choices:
        raise invalid_at("choices", "is empty; there is no answer")
    if len(choices) > 1:
        raise invalid_at("choices", f"expected one answer, got {len(choices)}; remove the others")
    return require_map(choices[0], "choices[0]")
