"""Reads requests and responses of Anthropic's API: both have the same blocks."""

from reel.base.strict_json import Json
from reel.providers.anthropic import API, PROVIDER, read_blocks, read_message
from reel.providers.elements import invalid_at
from reel.providers.metadata import opaque_object
from reeld.formats.anthropic.rules import ANSWERED, is_continuing, is_known
from reeld.formats.fields import LoadedRequest, Response, history_of, raise_provider_error, require_whole, usage_in
from reeld.formats.history_builder import HistoryBuilder


def read_request(body: Json, model: str | None = None) -> LoadedRequest:
    """Read a request body.

    Args:
        body: the whole object, with its ``messages``.
        model: the model that wrote the assistant's messages, if the body does not name it.

    Raises:
        InvalidMessage: something in it is not a message, or it continues a thread (rule A18); ``data.field`` is the
            place.
    """
    if is_continuing(body.get("thread")):
        require_whole(body, ("thread",))
    builder = HistoryBuilder(PROVIDER, body.get("model"), model)
    for found in history_of(body, "messages", API):
        read_message(builder, found)
    prompt = read_blocks(body.get("system") or None, "system", None)
    return builder.loaded(body, ("messages", "system", "model"), prompt)


def read_response(body: Json, model: str | None = None) -> Response:
    """Read a response body.

    Args:
        body: the whole object, with its ``content``.
        model: the model that answered, if the body does not name it.

    Raises:
        InvalidMessage: the body is not an answer; ``data.field`` is the place.
    """
    raise_provider_error(body)
    if "content" not in body:
        raise invalid_at("content", f"is missing; a response of {API} has it")
    builder = HistoryBuilder(PROVIDER, body.get("model"), model)
    blocks = read_blocks(body["content"], "content", builder.model)
    for index, block in enumerate(blocks):
        if block["type"] == "tool_result":
            raise invalid_at(f"content[{index}]", "an answer cannot contain a tool_result")
        if block["type"] == "opaque" and not is_known(str((opaque_object(block) or {}).get("type"))):
            block["provider_metadata"] = {"provider": PROVIDER, ANSWERED: True}
    builder.add("assistant", blocks)
    return builder.answer(
        body,
        ("id", "type", "role", "model", "content", "stop_reason", "usage"),
        response_id=body.get("id"),
        finish_reason=body.get("stop_reason"),
        usage=usage_in(body),
    )
