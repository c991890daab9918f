"""What comes from a provider, or went to one, as messages to add: the one entry point for the daemon."""

from collections.abc import Mapping

from reel.errors import InvalidMessage
from reel.streams.stream import Stream
from reel.strict_json import parse_bounded
from reeld.formats.fields import Json, Loaded, map_at, refused
from reeld.formats.metadata import text_of
from reeld.formats.render import LOADERS, READERS

_BLANK = "\ufeff \t\r\n"
_BROKE_OFF = "the answer broke off"


def read_response(
    format: str,  # noqa: A002 - the protocol's own word
    body: str,
    model: str | None = None,
    names: Mapping[str, str] | None = None,
    *,
    interrupted: bool = False,
) -> list[Json]:
    """Read an answer: the message, what it used, and that it broke off where it did.

    Args:
        format: a key of ``READERS``.
        body: the body of the response, or its event stream.
        model: who answered, where the body does not say.
        names: the tools that were sent under another name, by that name.
        interrupted: it broke off, as somebody knows who saw it.

    Returns:
        a message and records, in the form that is added.

    Raises:
        InvalidMessage: the body is no answer of this API, or broke off before there was anything to keep.
    """
    found, why = _response(format, body)
    message, usage, broke_off = READERS[format](found, model)
    why = why or broke_off or (_BROKE_OFF if interrupted else None)
    if why is not None and not any(map(_says_something, message["content"])):
        raise refused("body", f"nothing came of an answer: {why}")
    for block in message["content"]:
        if block["type"] == "tool_call" and names:
            block["name"] = names.get(block["name"], block["name"])
    records = [] if usage is None else [_usage(message["provider_metadata"], usage)]
    return [message, *records, *([] if why is None else [{"kind": "interrupted", "content": why}])]


def read_request(format: str, body: str, model: str | None = None) -> Loaded:  # noqa: A002 - as above
    """Read a whole request.

    Args:
        format: a key of ``LOADERS``.
        body: the body of the request.
        model: who made what the assistant says, where the body does not say.

    Raises:
        InvalidMessage: the body is no request of this API.
    """
    return LOADERS[format](_object(body), model)


def _response(format: str, body: str) -> tuple[Json, str | None]:  # noqa: A002 - as above
    """Give the body of a response, and why it is not whole where it is not."""
    if body.lstrip(_BLANK)[:1] == "{":
        return _object(body), None
    stream = Stream(format)
    stream.feed(body)
    stream.end()
    if not stream.complete and not stream.began:
        why = stream.error or (_BROKE_OFF if stream.events else "it is neither a JSON object nor an event stream")
        raise refused("body", f"nothing came of an answer: {why}")
    return stream.body(), None if stream.complete else stream.error or _BROKE_OFF


def _object(body: str) -> Json:
    try:
        return map_at(parse_bounded(body.strip(_BLANK)), "body")
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(f"body: no JSON: {error}", field="body") from None


def _says_something(block: Json) -> bool:
    return block["type"] != "text" or bool(block["text"])


def _usage(about: Json, usage: Json) -> Json:
    """Make the record of what an answer used, in the provider's own words."""
    known = {key: about[key] for key in ("provider", "model", "response_id") if key in about}
    return {"kind": "usage", "data_json": text_of({**known, "usage": usage})}
