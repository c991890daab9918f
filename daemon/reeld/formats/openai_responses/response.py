"""An answer of Responses, read."""

from reeld.formats.fields import Json, Response, about_answer, list_at, refuse_error, refused, said_in
from reeld.formats.openai import PROVIDER
from reeld.formats.openai_responses.items import Gathering
from reeld.formats.openai_responses.parts import text

# The states of a response that is not whole; one that holds nothing is none.
_UNFINISHED = ("queued", "in_progress", "failed", "cancelled")


def read(body: Json, model: str | None = None) -> Response:
    """Read a response body: all its items are one message.

    Args:
        body: the whole object, with its ``output``.
        model: who answered, where the body does not say.

    Raises:
        InvalidMessage: the body holds no answer; ``data.field`` is the place.
    """
    if not body.get("output"):
        refuse_error(body)
    if "output" not in body:
        raise refused("output", "is missing; this is no response of Responses")
    items = list_at(body["output"], "output")
    if not items and body.get("status") in _UNFINISHED:
        raise refused("output", f"is empty, and the response is {body['status']}; give the body of a finished one")
    maker = body.get("model") or model
    usage = body["usage"] if type(body.get("usage")) is dict else None
    details = body.get("incomplete_details")
    reason = details.get("reason") if type(details) is dict else None
    about = about_answer(
        PROVIDER,
        model=maker,
        response_id=body.get("id"),
        finish_reason=reason or body.get("status"),
        usage=usage,
    )
    blocks = _blocks(items, maker) or [text("")]
    message = {"role": "assistant", "content": blocks, "provider_metadata": about}
    return Response(message, usage, _broke_off(body) if body.get("status") in _UNFINISHED else None)


def _broke_off(body: Json) -> str:
    error = body.get("error")
    return f"the response is {body['status']}" + ("" if error is None else f": {said_in(error)}")


def _blocks(items: list[object], model: str | None) -> list[Json]:
    """Give the blocks of the items; what is no answer's item stands among them as it came."""
    gathering = Gathering(model)
    for index, item in enumerate(items):
        gathering.take(item, f"output[{index}]")
    return [block for message in gathering.messages for block in message["content"]]
