"""Reads requests and responses of Responses: both have the same items, and consecutive output forms one message."""

from typing import Any

from reel.base.strict_json import Json
from reel.providers.blocks import text
from reel.providers.elements import invalid_at, require_list, require_str
from reel.providers.openai import PROVIDER
from reel.providers.openai_responses import OUTPUT_KINDS, ItemReader, type_of
from reeld.formats.fields import (
    LoadedRequest,
    Response,
    error_message,
    raise_provider_error,
    require_history,
    require_whole,
    usage_in,
)
from reeld.formats.history_builder import HistoryBuilder
from reeld.formats.openai_responses.items import call_half
from reeld.formats.openai_responses.rules import CONTINUES, WINDOW

_API = "Responses"
# The keys with which a request continues a history outside of its body (rule R8).
_OUTSIDE = (*CONTINUES, "prompt")
# The object that `/responses/compact` answers with, and the roles of messages that a model is sent (rule R14).
_COMPACTED, _SENT = "response.compaction", ("user", "system", "developer")
# The states of a response that is incomplete (rule R9).
_UNFINISHED = ("queued", "in_progress", "failed", "cancelled")
# The keys of a response that are read, and those that repeat the request, of any size, or the answer (rule R11).
_READ = ("id", "object", "model", "output", "usage", "output_text", "instructions", "tools")


def read_request(body: Json, model: str | None = None) -> LoadedRequest:
    """Read a request body.

    Args:
        body: the whole object, with its ``input``.
        model: the model that wrote the assistant's items, if the body does not name it.

    Raises:
        InvalidMessage: something in it is not an item, or the history begins outside the body; ``data.field`` is the
            place.
    """
    require_whole(body, _OUTSIDE)
    given = body.get("input")
    items = require_history([given] if type(given) is str else given, "input", _API)
    builder = HistoryBuilder(PROVIDER, body.get("model"), model)
    reader = ItemReader(builder)
    for index, item in enumerate(items):
        reader.add(item, f"input[{index}]")
    return builder.loaded(body, ("input", "instructions", "model"), _prompt(body))


def _prompt(body: Json) -> list[Json]:
    given = body.get("instructions")
    return [] if given is None else [text(require_str(given, "instructions"))]


def read_response(body: Json, model: str | None = None) -> Response:
    """Read a response body: all its items are one message.

    Args:
        body: the whole object, with its ``output``.
        model: the model that answered, if the body does not name it.

    Raises:
        InvalidMessage: the body has no answer; ``data.field`` is the place.
    """
    if not body.get("output"):
        raise_provider_error(body)
    if "output" not in body:
        raise invalid_at("output", f"is missing; a response of {_API} has it")
    items = require_list(body["output"], "output")
    if not items and body.get("status") in _UNFINISHED:
        raise invalid_at("output", f"is empty, and the response is {body['status']}; ingest it when it is complete")
    details = body.get("incomplete_details")
    reason = details.get("reason") if type(details) is dict else None
    builder = HistoryBuilder(PROVIDER, body.get("model"), model)
    reader = ItemReader(builder)
    served = _answered(items)
    for index, item in enumerate(items):
        if not _is_repeated(item):
            reader.add(item, f"output[{index}]", served=index in served)
    if body.get("object") == _COMPACTED:
        _mark_window(builder)
    return builder.answer(
        body,
        (*_READ, "status") if reason is None else _READ,
        broke_off=_why_incomplete(body),
        response_id=body.get("id"),
        finish_reason=reason or body.get("status"),
        usage=usage_in(body),
    )


def _is_repeated(item: Any) -> bool:
    """Whether an item is a message that the model was sent: the history has it already (rule R14)."""
    return type(item) is dict and type_of(item) in ("message", "") and item.get("role") in _SENT


def _mark_window(builder: HistoryBuilder) -> None:
    """Mark the compactions of a window, which leave what the user said as it was (rule R14)."""
    for message in builder.messages:
        for block in message["content"]:
            if block["type"] == "opaque":
                block["provider_metadata"] = {"provider": PROVIDER, WINDOW: True}


def _why_incomplete(body: Json) -> str | None:
    if body.get("status") not in _UNFINISHED:
        return None
    error = body.get("error")
    return f"the response is {body['status']}" + ("" if error is None else f": {error_message(error)}")


def _answered(items: list[Any]) -> frozenset[int]:
    """Return the numbers of the items that the server answered a call with, and of these calls (rule R12)."""
    calls: dict[str, int] = {}
    found: set[int] = set()
    for index, item in enumerate(items):
        half = call_half(item) if type(item) is dict else None
        if half is not None and half.is_call:
            calls.setdefault(half.key, index)
        elif type(item) is dict and type_of(item) in OUTPUT_KINDS:
            found.update((index, index if half is None else calls.pop(half.key, index)))
    return frozenset(found)
