"""An answer of Chat Completions, read."""

from typing import Any

from reeld.formats.fields import Json, Response, about_answer, list_at, map_at, refuse_error, refused, said_in, stem_of
from reeld.formats.openai import PROVIDER
from reeld.formats.openai_chat.assistant import message_of, with_ids


def read(body: Json, model: str | None = None) -> Response:
    """Read a response body.

    Args:
        body: the whole object, with its ``choices``.
        model: who answered, where the body does not say.

    Raises:
        InvalidMessage: the body holds no answer, or several; ``data.field`` is the place.
    """
    refuse_error(body)
    choice = _only_choice(body)
    given = map_at(choice.get("message"), "choices[0].message")
    given = with_ids(given, lambda index, _call: f"call_{stem_of(body, 'id')}_{index}")
    message = message_of(given, "choices[0].message", _maker(body, model))
    usage = body["usage"] if type(body.get("usage")) is dict else None
    about = about_answer(
        PROVIDER,
        model=_maker(body, model),
        response_id=body.get("id"),
        finish_reason=choice.get("finish_reason"),
        usage=usage,
    )
    # Routers say so that who answered failed on the way.
    failed = choice.get("error")
    broke_off = None if failed is None else f"the provider said: {said_in(failed)}"
    metadata = {**message.get("provider_metadata", {}), **about}
    return Response({**message, "provider_metadata": metadata}, usage, broke_off)


def _maker(body: Json, model: str | None) -> Any:
    return body.get("model") or model


def _only_choice(body: Json) -> Json:
    """Give the one answer; to take the first of several would lose the others without a word."""
    if "choices" not in body:
        raise refused("choices", "is missing; this is no response of Chat Completions")
    choices = list_at(body["choices"], "choices")
    if len(choices) != 1:
        raise refused("choices", f"expected one answer, got {len(choices)}; leave one in")
    return map_at(choices[0], "choices[0]")
