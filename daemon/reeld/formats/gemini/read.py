"""Reads requests and responses of Gemini's API: both have the same parts, with keys in either spelling (rule G8)."""

from typing import Any

from reel.base.strict_json import Json
from reel.providers.blocks import text
from reel.providers.elements import invalid_at, require_map
from reel.providers.gemini import API, PROVIDER, camel_case, parts_in, read_content, read_said
from reel.providers.json_values import dump
from reeld.formats.fields import LoadedRequest, Response, history_of, id_prefix, raise_provider_error, usage_in
from reeld.formats.history_builder import HistoryBuilder

# The keys of a response that are read, or that only Google's SDK adds to it.
_TOP_KEYS = ("candidates", "modelVersion", "responseId", "usageMetadata", "sdkHttpResponse", "parsed")
# The keys of a candidate that are read, or say nothing about the message.
_CANDIDATE_KEYS = ("content", "finishReason", "index")


def read_request(body: Json, model: str | None = None) -> LoadedRequest:
    """Read a request body.

    Args:
        body: the whole object, with its ``contents``.
        model: the model that wrote the model's contents; the body has no place for it (rule G9).

    Raises:
        InvalidMessage: something in it is not a message; ``data.field`` is the place.
    """
    body = camel_case(body)
    builder = HistoryBuilder(PROVIDER, model, body.get("model"))
    for index, found in enumerate(history_of(body, "contents", API)):
        read_content(builder, found, f"{index}_")
    prompt = _prompt(body.get("systemInstruction"))
    return builder.loaded(body, ("contents", "systemInstruction", "model"), prompt)


def _prompt(instruction: Any) -> list[Json]:
    if not instruction:
        return []
    if type(instruction) is str:
        return [text(instruction)]
    parts = require_map(instruction, "systemInstruction").get("parts")
    return [text(part.text("text")) for part in parts_in(parts, "systemInstruction.parts")]


def read_response(body: Json, model: str | None = None) -> Response:
    """Read a response body.

    Args:
        body: the whole object, with its ``candidates``.
        model: the model that answered, if the body does not name it.

    Raises:
        InvalidMessage: the body has no answer, or several; ``data.field`` is the place.
    """
    raise_provider_error(body)
    body = camel_case(body)
    candidate = _only_candidate(body)
    content = camel_case(require_map(candidate.get("content") or {}, "candidates[0].content"))
    builder = HistoryBuilder(PROVIDER, body.get("modelVersion"), model, made=id_prefix(body, "responseId"))
    parts = enumerate(parts_in(content.get("parts"), "candidates[0].content.parts"))
    blocks = [read_said(builder, part, str(index), builder.model) for index, part in parts]
    builder.add("assistant", blocks)
    return builder.answer(
        {**body, **candidate},
        (*_TOP_KEYS, *_CANDIDATE_KEYS),
        response_id=body.get("responseId"),
        finish_reason=candidate.get("finishReason"),
        usage=usage_in(body, "usageMetadata"),
    )


def _only_candidate(body: Json) -> Json:
    """Return the one answer; taking the first of several would silently lose the others (rule X14)."""
    candidates: Any = body.get("candidates")
    if not candidates:
        feedback = body.get("promptFeedback")
        why = f"the provider said {dump(feedback)}" if feedback else f"a response of {API} has one"
        raise invalid_at("candidates", f"there is no answer; {why}")
    if type(candidates) is not list or len(candidates) != 1:
        raise invalid_at("candidates", "expected a list of one answer; remove the others")
    return camel_case(require_map(candidates[0], "candidates[0]"))
