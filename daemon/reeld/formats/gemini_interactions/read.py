"""Reads requests and responses of the Interactions API: both have the same steps."""

from itertools import dropwhile
from typing import Any

from reel.strict_json import Json
from reeld.formats.content import ANY_PICTURE, standard_base64
from reeld.formats.fields import (
    LoadedRequest,
    Response,
    arguments_of,
    error_message,
    id_prefix,
    invalid_at,
    raise_provider_error,
    require_elements,
    require_history,
    require_list,
    require_map,
    require_role,
    require_str,
    usage_in,
)
from reeld.formats.gemini.rules import PROVIDER, is_uploaded
from reeld.formats.gemini_interactions.rules import OUTSIDE
from reeld.formats.gemini_interactions.steps import BESIDE_MEDIA
from reeld.formats.history_builder import (
    HistoryBuilder,
    blocks_of,
    instructions,
    known_model,
    made_by,
    privileged,
    text,
)
from reeld.formats.json_values import dump
from reeld.formats.metadata import opaque_block, preserve_keys

_API = "Interactions"
# The states of an interaction that is incomplete (rule I9).
_UNFINISHED = ("queued", "in_progress", "failed", "cancelled", "requires_continuation")
# The steps of a request, which a response may repeat before its own.
_INPUT = ("user_input", "function_result")
# The keys of a response that are read, that repeat the request, or that Google's SDK adds (rule I10).
_READ = (
    *("id", "object", "model", "steps", "usage", "status", "input", "system_instruction", "tools"),
    *("output_text", "output_image", "output_audio", "output_video"),
)


def read_request(body: Json, model: str | None = None) -> LoadedRequest:
    """Read a request body.

    Args:
        body: the whole object, with its ``input``.
        model: the model that wrote the model's steps, if the body does not name it.

    Raises:
        InvalidMessage: something in it is not a step, or the history begins outside the body; ``data.field`` is the
            place.
    """
    for key in OUTSIDE:
        if body.get(key) is not None:
            raise invalid_at(key, "the history begins outside this body; load a request that contains all of it")
    given = body.get("input")
    steps = require_history([given] if type(given) is str else given, "input", _API)
    builder = HistoryBuilder(PROVIDER, known_model(body.get("model"), model))
    reader = _StepReader(builder)
    for index, step in enumerate(steps):
        reader.add(step, f"input[{index}]", str(index))
    return builder.loaded(body, ("input", "system_instruction", "model"), instructions(PROVIDER, _prompt(body)))


def _prompt(body: Json) -> list[Json]:
    given = body.get("system_instruction")
    return [text(require_str(given, "system_instruction"))] if given else []


def read_response(body: Json, model: str | None = None) -> Response:
    """Read a response body: all steps that the model made are one message.

    Args:
        body: the whole object, with its ``steps``.
        model: the model that answered, if the body does not name it.

    Raises:
        InvalidMessage: the body has no answer; ``data.field`` is the place.
    """
    if not body.get("steps"):
        raise_provider_error(body)
    status = body.get("status")
    if "steps" not in body:
        raise invalid_at("steps", f"is missing; a response of {_API} has it")
    steps = list(enumerate(require_list(body["steps"], "steps")))
    if not steps and status in _UNFINISHED:
        raise invalid_at("steps", f"is empty, and the interaction is {_why_unfinished(body)}")
    builder = HistoryBuilder(PROVIDER, known_model(body.get("model"), model), f"call_{id_prefix(body, 'id')}")
    reader = _StepReader(builder)
    for index, step in dropwhile(lambda place: _type_of(place[1]) in _INPUT, steps):
        reader.add_made(require_map(step, f"steps[{index}]"), f"steps[{index}]", str(index))
    error = reader.error or body.get("error")
    return builder.answer(
        {**body, "error": error},
        _READ,
        broke_off=_why_incomplete(body, error),
        response_id=body.get("id") or None,
        finish_reason=status,
        usage=usage_in(body),
    )


def _why_incomplete(body: Json, error: Any) -> str | None:
    if body.get("status") in _UNFINISHED:
        return f"the interaction is {_why_unfinished(body)}"
    return None if error is None else f"the answer has an error: {error_message(error)}"


def _why_unfinished(body: Json) -> str:
    """Return the status of an interaction with its errors, the only source of the reason for a failure."""
    errors = body.get("errors")
    given = [*(errors if type(errors) is list else []), body.get("error")]
    causes = [str(error_message(error)) for error in given if error is not None]
    return ": ".join([str(body["status"]), *(["; ".join(causes)] if causes else [])])


def _type_of(value: Any) -> str:
    kind = value.get("type") if type(value) is dict else None
    return kind if type(kind) is str else ""


class _StepReader:
    """Reads steps in order, and adds their messages to a builder."""

    def __init__(self, builder: HistoryBuilder) -> None:
        # The error that ended the model's newest output.
        self.error: Any = None
        self._builder = builder
        self._maker = {"provider": PROVIDER, **made_by(builder.model)}

    def add(self, given: Any, where: str, place: str) -> None:
        """Add one step of a request; a content, or a bare string, is the user's.

        Args:
            given: the step.
            where: its place, for errors.
            place: a part of generated call ids that makes them unique.
        """
        step = text(given) if type(given) is str else require_map(given, where)
        kind = _type_of(step)
        if kind == "user_input" or (kind == "" and "role" in step):
            self._add_turn(step, where, place)
        elif kind == "function_result":
            self._builder.extend("tool", [self._result(step, where)])
        elif kind in ("text", *BESIDE_MEDIA):
            self._builder.extend("user", [_content(step, where)])
        else:
            self.add_made(step, where, place)

    def _add_turn(self, step: Json, where: str, place: str) -> None:
        """Add user input; a step with a role is a turn, as in the API before it had steps (rule X12)."""
        role = require_role(step.get("role") or "user", f"{where}.role", _API)
        given = step.get("content")
        parts = [given] if type(given) is str else require_elements(given, f"{where}.content")
        if role == "assistant":
            for number, part in enumerate(parts):
                self._add_part(part, f"{where}.content[{number}]", f"{place}_{number}")
            return
        contents: list[Json] = []
        for number, part in enumerate(parts):
            inside = f"{where}.content[{number}]"
            if _type_of(part) == "function_result":
                self._builder.extend("tool", [self._result(part, inside)])
            else:
                contents.append(_content(part, inside))
        if contents or not parts:
            self._builder.add("user", contents, privileged(PROVIDER, role))

    def _add_part(self, part: Any, where: str, place: str) -> None:
        """Add a part of a model's turn."""
        if type(part) is str or _type_of(part) in ("text", *BESIDE_MEDIA):
            self._builder.extend("assistant", [_content(part, where)])
        else:
            self.add_made(require_map(part, where), where, place)

    def add_made(self, step: Json, where: str, place: str) -> None:
        """Add one step of the model; one without a neutral form is kept whole."""
        kind = _type_of(step)
        if kind == "model_output":
            parts = require_elements(step.get("content"), f"{where}.content")
            blocks = blocks_of(parts, f"{where}.content", _content)
            self.error = step.get("error") or self.error
        elif kind == "thought":
            blocks = [self._thought(step, where)]
        elif kind == "function_call":
            blocks = [self._call(step, where, place)]
        else:
            blocks = [opaque_block(PROVIDER, step, self._maker.get("model") if step.get("signature") else None)]
        self._builder.extend("assistant", blocks)

    @staticmethod
    def _signature(step: Json, where: str) -> Json:
        """Return the signature of a step; ``None`` if it is missing or empty (rule I3)."""
        signature = step.get("signature")
        return {"signature": require_str(signature, f"{where}.signature")} if signature else {}

    def _thought(self, step: Json, where: str) -> Json:
        """Read a thought: its texts; a summary that is more than one text is kept beside them."""
        parts = require_elements(step.get("summary"), f"{where}.summary")
        texts = [
            require_str(part.get("text"), f"{where}.summary[{number}].text")
            for number, part in enumerate(parts)
            if require_map(part, f"{where}.summary[{number}]").get("type", "text") == "text"
        ]
        said = "".join(texts)
        is_plain = parts in ([], [text(said)])
        kept = {} if is_plain else preserve_keys(PROVIDER, {"summary": parts})
        return {"type": "thinking", "text": said, **self._maker, **self._signature(step, where), **kept}

    def _call(self, step: Json, where: str, place: str) -> Json:
        name = require_str(step.get("name"), f"{where}.name")
        call_id = self._builder.call_id(require_str(step.get("id") or "", f"{where}.id"), name, place, where)
        signed = self._signature(step, where)
        kept = {"provider_metadata": {**self._maker, **signed}} if signed else {}
        arguments = arguments_of(step.get("arguments"))
        return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments, **kept}

    def _result(self, step: Json, where: str) -> Json:
        """Read a function_result: a text, contents, or an object, which is kept beside its text (rule I5)."""
        call_id = self._builder.answered_id(step.get("call_id"), step.get("name"), f"{where}.call_id")
        found = {"type": "tool_result", "tool_call_id": call_id, "is_error": step.get("is_error") is True}
        value = step.get("result")
        if value is None or type(value) is str:
            return {**found, "content": value or ""}
        if type(value) is list:
            return {**found, "content": blocks_of(value, f"{where}.result", _content) or ""}
        kept = preserve_keys(PROVIDER, {"response_json": dump(value)} if type(value) is dict else {})
        return {**found, "content": dump(value), **kept}


def _content(part: Any, where: str) -> Json:
    """Read a content; one without a neutral form is kept whole."""
    if type(part) is str:
        return text(part)
    found = require_map(part, where)
    kind = found.get("type", "text")
    if kind == "text":
        said = require_str(found.get("text"), f"{where}.text")
        return {**text(said), **preserve_keys(PROVIDER, found, ("type", "text"))}
    block = _media(found, where) if type(kind) is str and kind in BESIDE_MEDIA else None
    return opaque_block(PROVIDER, found) if block is None else block


def _media(found: Json, where: str) -> Json | None:
    """Read media with a MIME type, optional for a picture with a URL (rule I7)."""
    kept = preserve_keys(PROVIDER, found, ("type", "data", "uri", "mime_type"))
    beside = kept.get("provider_metadata") or {"provider": PROVIDER}
    mime, data, url = found.get("mime_type"), found.get("data"), found.get("uri")
    if type(url) is str and is_uploaded(url) and type(mime) is str:
        return {**opaque_block(PROVIDER, {"fileData": {"fileUri": url, "mimeType": mime}}), **kept}
    source = {"url": url}
    if data is not None:
        source = {"data_base64": standard_base64(require_str(data, f"{where}.data"))}
    if mime is None and found["type"] == "image" and data is None:
        mime = ANY_PICTURE
    if type(mime) is not str or type(next(iter(source.values()))) is not str:
        return None
    return {"type": "media", "mime_type": mime, **source, "provider_metadata": beside}
