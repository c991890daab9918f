"""Reads requests and responses of the Interactions API: both have the same steps."""

from itertools import dropwhile
from typing import Any

from reel.base.strict_json import Json
from reel.providers.blocks import blocks_of, made_by, own_media, privileged, text, text_part, tool_result
from reel.providers.content import ANY_PICTURE, standard_base64
from reel.providers.elements import Element, invalid_at, require_elements, require_list, require_map, require_str
from reel.providers.gemini import PROVIDER, is_uploaded
from reel.providers.json_values import dump
from reel.providers.metadata import opaque_block, preserve_keys
from reeld.formats.fields import (
    LoadedRequest,
    Response,
    error_message,
    id_prefix,
    raise_provider_error,
    require_history,
    require_whole,
    usage_in,
)
from reeld.formats.gemini_interactions.rules import OUTSIDE
from reeld.formats.gemini_interactions.steps import BESIDE_MEDIA
from reeld.formats.history_builder import HistoryBuilder

_API = "Interactions"
# The states of an interaction that is incomplete (rule I9).
_UNFINISHED = ("queued", "in_progress", "failed", "cancelled", "requires_continuation")
# The contents that a step may be, or have.
_CONTENTS = ("text", *BESIDE_MEDIA)
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
    require_whole(body, OUTSIDE)
    given = body.get("input")
    steps = require_history([given] if type(given) is str else given, "input", _API)
    builder = HistoryBuilder(PROVIDER, body.get("model"), model)
    reader = _StepReader(builder)
    for index, step in enumerate(steps):
        reader.add(step, f"input[{index}]", str(index))
    return builder.loaded(body, ("input", "system_instruction", "model"), _prompt(body))


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
    builder = HistoryBuilder(PROVIDER, body.get("model"), model, made=id_prefix(body, "id"))
    reader = _StepReader(builder)
    for index, step in dropwhile(lambda place: _type_of(place[1]) in _INPUT, steps):
        reader.add_made(Element(require_map(step, f"steps[{index}]"), f"steps[{index}]"), str(index))
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


def _element(given: Any, where: str) -> Element:
    """Return a step or a content; a bare string is a text."""
    return Element(text(given) if type(given) is str else require_map(given, where), where)


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
        step = _element(given, where)
        kind = _type_of(step.value)
        if kind == "user_input" or (kind == "" and "role" in step.value):
            self._add_turn(step, place)
        elif kind == "function_result":
            self._builder.extend("tool", [self._result(step)])
        elif kind in _CONTENTS:
            self._builder.extend("user", [_content(step)])
        else:
            self.add_made(step, place)

    def _add_turn(self, step: Element, place: str) -> None:
        """Add user input; a step with a role is a turn, as in the API before it had steps (rule X12)."""
        role = step.role(_API, "user")
        given, where = step.get("content"), step.at("content")
        parts = [given] if type(given) is str else require_elements(given, where)
        contents: list[Json] = []
        for number, value in enumerate(parts):
            part = _element(value, f"{where}[{number}]")
            if role == "assistant":
                self._add_part(part, f"{place}_{number}")
            elif _type_of(part.value) == "function_result":
                self._builder.extend("tool", [self._result(part)])
            else:
                contents.append(_content(part))
        if role != "assistant" and (contents or not parts):
            self._builder.add("user", contents, privileged(PROVIDER, role))

    def _add_part(self, part: Element, place: str) -> None:
        """Add a part of a model's turn."""
        if _type_of(part.value) in _CONTENTS:
            self._builder.extend("assistant", [_content(part)])
        else:
            self.add_made(part, place)

    def add_made(self, step: Element, place: str) -> None:
        """Add one step of the model; one without a neutral form is kept whole."""
        kind = _type_of(step.value)
        if kind == "model_output":
            blocks = blocks_of(require_elements(step.get("content"), step.at("content")), step.at("content"), _content)
            self.error = step.get("error") or self.error
        elif kind == "thought":
            blocks = [self._thought(step)]
        elif kind == "function_call":
            blocks = [self._call(step, place)]
        else:
            blocks = [opaque_block(PROVIDER, step.value, self._builder.model if step.get("signature") else None)]
        self._builder.extend("assistant", blocks)

    @staticmethod
    def _signature(step: Element) -> Json:
        """Return the signature of a step; nothing if it is missing or empty (rule I3)."""
        return {"signature": step.text("signature")} if step.get("signature") else {}

    def _thought(self, step: Element) -> Json:
        """Read a thought: its texts; a summary that is more than one text is kept beside them."""
        parts = require_elements(step.get("summary"), step.at("summary"))
        texts = [part for part in step.elements("summary") if part.value.get("type", "text") == "text"]
        said = "".join([part.text("text") for part in texts])
        is_plain = parts in ([], [text(said)])
        kept = {} if is_plain else preserve_keys(PROVIDER, {"summary": parts})
        return {"type": "thinking", "text": said, **self._maker, **self._signature(step), **kept}

    def _call(self, step: Element, place: str) -> Json:
        name, signed = step.text("name"), self._signature(step)
        kept = {"provider_metadata": {**self._maker, **signed}} if signed else {}
        return self._builder.call(step, name, step.get("arguments"), place, kept)

    def _result(self, step: Element) -> Json:
        """Read a function_result: a text, contents, or an object, which is kept beside its text (rule I5)."""
        call_id = self._builder.answered_id(step.get("call_id"), step.get("name"), step.at("call_id"))
        value, failed = step.get("result"), step.get("is_error") is True
        if value is None or type(value) is str:
            return tool_result(call_id, value or "", failed=failed)
        if type(value) is list:
            return tool_result(call_id, blocks_of(value, step.at("result"), _content) or "", failed=failed)
        kept = preserve_keys(PROVIDER, {"response_json": dump(value)} if type(value) is dict else {})
        return tool_result(call_id, dump(value), kept, failed=failed)


def _content(part: Element) -> Json:
    """Read a content; one without a neutral form is kept whole."""
    kind = part.value.get("type", "text")
    if kind == "text":
        return text_part(PROVIDER, part)
    block = _media(part) if type(kind) is str and kind in BESIDE_MEDIA else None
    return opaque_block(PROVIDER, part.value) if block is None else block


def _media(part: Element) -> Json | None:
    """Read media with a MIME type, optional for a picture with a URL (rule I7)."""
    known = ("data", "uri", "mime_type")
    mime, data, url = part.get("mime_type"), part.get("data"), part.get("uri")
    if type(url) is str and is_uploaded(url) and type(mime) is str:
        file = {"fileData": {"fileUri": url, "mimeType": mime}}
        return {**opaque_block(PROVIDER, file), **part.kept(PROVIDER, "type", *known)}
    source = {"url": url}
    if data is not None:
        source = {"data_base64": standard_base64(require_str(data, part.at("data")))}
    if mime is None and part.value["type"] == "image" and data is None:
        mime = ANY_PICTURE
    if type(mime) is not str or type(next(iter(source.values()))) is not str:
        return None
    return own_media(PROVIDER, {"type": "media", "mime_type": mime, **source}, part, *known)
