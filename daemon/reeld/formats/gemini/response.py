"""An answer of Gemini's API, read."""

from typing import Any

from reeld.formats import metadata as native
from reeld.formats.fields import Json, Response, about_answer, entries_at, map_at, refuse_error, refused, stem_of
from reeld.formats.gemini.content import block_of, camel, part_at
from reeld.formats.gemini.parts import PROVIDER
from reeld.formats.jsonbytes import encode_text

# What of a candidate is said elsewhere, or says nothing about the message.
_TOLD = ("content", "finishReason", "index")


def read(body: Json, model: str | None = None) -> Response:
    """Read a response body.

    Args:
        body: the whole object, with its ``candidates``.
        model: who answered, where the body does not say.

    Raises:
        InvalidMessage: the body holds no answer, or several; ``data.field`` is the place.
    """
    refuse_error(body)
    body = camel(body)
    candidate = _only_candidate(body)
    made_by = body.get("modelVersion") or model
    content = camel(map_at(candidate.get("content") or {}, "candidates[0].content"))
    stem = stem_of(body, "responseId")
    blocks = []
    for index, value in enumerate(entries_at(content.get("parts"), "candidates[0].content.parts")):
        where = f"candidates[0].content.parts[{index}]"
        blocks.append(block_of(part_at(value, where), where, f"call_{stem}_{index}", made_by))
    usage = body["usageMetadata"] if isinstance(body.get("usageMetadata"), dict) else None
    about = about_answer(
        PROVIDER,
        model=made_by,
        response_id=body.get("responseId"),
        finish_reason=candidate.get("finishReason"),
        usage=usage,
    )
    beside = native.keep(PROVIDER, candidate, _TOLD).get("provider_metadata", {})
    message = {"role": "assistant", "content": blocks or [{"type": "text", "text": ""}]}
    return Response({**message, "provider_metadata": {**beside, **about}}, usage)


def _only_candidate(body: Json) -> Json:
    """Give the one answer; to take the first of several would lose the others without a word."""
    candidates: Any = body.get("candidates")
    if not candidates:
        feedback = body.get("promptFeedback")
        why = f"; it said {encode_text(feedback)}" if feedback else "; this is no response of Gemini's"
        raise refused("candidates", f"there is no answer{why}")
    if not isinstance(candidates, list) or len(candidates) != 1:
        raise refused("candidates", "expected a list of one answer; leave one in")
    return camel(map_at(candidates[0], "candidates[0]"))
