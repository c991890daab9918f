"""Converts responses of providers, and whole requests, to messages to add. The daemon calls both functions."""

from collections.abc import Callable, Mapping
from typing import Any

from reel.base.errors import InvalidMessage, InvalidParams
from reel.base.strict_json import Json, parse_answer, parse_bounded
from reel.providers.elements import invalid_at, require_map
from reel.providers.json_values import dump
from reel.reading.cuts import BROKE_OFF
from reel.streams.stream import Stream, is_whole
from reeld.formats.fields import LoadedRequest
from reeld.formats.naming import PREFIX, note_asked_model, note_dialect
from reeld.formats.table import FORMATS

_BLANK = "\ufeff \t\r\n"
_NO_REASON = "the answer broke off"


def read_response(
    format: str,  # noqa: A002 - the protocol's own word
    body: str,
    model: str | None = None,
    names: Mapping[str, str] | None = None,
    *,
    interrupted: bool = False,
    prefix: str | None = None,
) -> list[Json]:
    """Read an answer: its message, its usage, and whether it broke off.

    Args:
        format: a key of ``FORMATS``.
        body: the body of the response, or its event stream.
        model: the requested model; it is the one that answered, unless the body names another.
        names: the tools that were sent under another name; the keys are the names that were sent.
        interrupted: whether the caller saw the response break off.
        prefix: the hash of the body that it answers, which it may be bound to (:mod:`reeld.formats.binding`).

    Returns:
        a message and records, in the form that is added.

    Raises:
        InvalidMessage: the body is not an answer of this API, or broke off before any usable content.
        InvalidParams: no provider answers in this format.
    """
    read = FORMATS[format].read_response
    if read is None:
        raise InvalidParams(f"format: {format} has no responses; load a whole conversation instead", field="format")
    found, why = _response(format, body)
    message, usage, broke_off = read(found, model)
    note_asked_model(message, model)
    if prefix:
        message["provider_metadata"][PREFIX] = prefix
        note_dialect(message, prefix, FORMATS[format].dialects)
    why = why or broke_off or (_NO_REASON if interrupted else None)
    if why is not None and not any(map(_has_content, message["content"])):
        raise invalid_at("body", f"the answer has no content: {why}")
    for block in message["content"]:
        if block["type"] == "tool_call" and names:
            block["name"] = names.get(block["name"], block["name"])
    if why is not None:
        message["provider_metadata"][BROKE_OFF] = why
    records = [] if usage is None else [_usage_record(message["provider_metadata"], usage)]
    return [message, *records, *([] if why is None else [{"kind": "interrupted", "content": why}])]


def read_request(format: str, body: str, model: str | None = None) -> LoadedRequest:  # noqa: A002 - as above
    """Read a whole request.

    Args:
        format: a key of ``FORMATS``.
        body: the body of the request; an array is the history of one (rule X12).
        model: the model that wrote the assistant's messages, if the body does not name it.

    Raises:
        InvalidMessage: the body is not a request of this API.
    """
    target, found = FORMATS[format], _value(body)
    whole = {target.history_key: found} if type(found) is list else found
    return target.read_request(require_map(whole, "body"), model)


def _response(format: str, body: str) -> tuple[Json, str | None]:  # noqa: A002 - as above
    """Return the body of a response, and why it is incomplete, if it is."""
    if is_whole(format, body.lstrip(_BLANK)):
        return _object(body), None
    stream = Stream(format)
    stream.feed(body)
    stream.end()
    if not stream.complete and not stream.began:
        why = stream.error or (
            _NO_REASON if stream.events or stream.cut else "it is neither a JSON object nor an event stream"
        )
        raise invalid_at("body", f"the answer has no content: {why}")
    return stream.body(), None if stream.complete else stream.error or _NO_REASON


def _object(body: str) -> Json:
    return require_map(_value(body, parse_answer), "body")


def _value(body: str, parse: Callable[[str], Any] = parse_bounded) -> Any:
    try:
        return parse(body.strip(_BLANK))
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(f"body: invalid JSON: {error}", field="body") from None


def _has_content(block: Json) -> bool:
    return block["type"] != "text" or bool(block["text"])


def _usage_record(metadata: Json, usage: Json) -> Json:
    """Return the record of an answer's usage, in the provider's own terms."""
    known = {key: metadata[key] for key in ("provider", "model", "response_id") if key in metadata}
    return {"kind": "usage", "data_json": dump({**known, "usage": usage})}
