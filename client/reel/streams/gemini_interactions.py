"""Events of the Interactions API (``InteractionSSEEvent`` of ``google.genai``) folded into an interaction."""

import binascii
from base64 import b64decode, b64encode
from typing import Any

from reel.base.strict_json import parse_bounded
from reel.streams.incremental import (
    IncrementalMap,
    dict_or_empty,
    index_or_zero,
    join_surrogates,
    list_or_empty,
    text_or_empty,
)

_LIFE = ("interaction.created", "interaction.completed", "interaction.status_update")
_OF_AN_EVENT = ("event_type", "event_id", "interaction", "interaction_id")
_MEDIA = ("image", "audio", "video", "document")


class GeminiInteractions:
    """The interaction so far; ``complete`` once it has ended in any way."""

    def __init__(self) -> None:
        self.complete = False
        self._ended = False
        self._top: dict[str, Any] = {}
        self._steps: dict[int, _Step] = {}

    def feed(self, name: str, event: dict[str, Any]) -> str:
        """Fold an event; return the text that it adds."""
        kind = event.get("event_type", name)
        if kind == "step.start":
            step = self._steps[index_or_zero(event.get("index"))] = _Step(dict_or_empty(event.get("step")))
            return step.text
        if kind == "step.delta":
            step = self._steps.setdefault(index_or_zero(event.get("index")), _Step({"type": "model_output"}))
            return step.feed(dict_or_empty(event.get("delta")))
        if kind in _LIFE:
            beside = {key: value for key, value in event.items() if key not in _OF_AN_EVENT}
            given = {**beside, **dict_or_empty(event.get("interaction"))}
            self._top.update({key: value for key, value in given.items() if value is not None})
            self._ended = self._ended or kind == "interaction.completed"
            # An agent that has done what it can is idle, and may be asked again (rule I9).
            self.complete = self._ended or self._top.get("status") == "idle"
        elif "steps" in event and not self._steps:
            # A whole interaction, as Google's SDK returns it.
            self._top, self.complete = event, True
            return "".join(_Step(dict_or_empty(step)).text for step in list_or_empty(event["steps"]))
        return ""

    def done(self) -> None:
        """Ignore a ``[DONE]``, which this API does not send."""

    def body(self) -> dict[str, Any]:
        """Return the interaction, as received so far."""
        steps = self._top.get("steps") if self.complete else None
        return {**self._top, "steps": steps or [step.value() for _, step in sorted(self._steps.items())]}


class _Step:
    """A step whose members arrive in pieces.

    Args:
        start: the initial step; most begin with their type alone.
    """

    def __init__(self, start: dict[str, Any]) -> None:
        self._step = IncrementalMap({key: value for key, value in start.items() if value not in (None, "")})
        self._is_shown = start.get("type") == "model_output"
        # The key of the step's parts, and the parts.
        self._field = "summary" if start.get("type") == "thought" else "content"
        self._parts = [_Part(dict_or_empty(part)) for part in list_or_empty(start.get(self._field))]
        self._arguments: list[str] = []

    @property
    def text(self) -> str:
        """The texts of its parts, if they are shown."""
        return "".join(part.text for part in self._parts) if self._is_shown else ""

    def feed(self, delta: dict[str, Any]) -> str:
        """Process the next piece; return the text that it adds."""
        kind = delta.get("type")
        if kind == "text":
            return self._add_text(delta)
        if kind in _MEDIA:
            self._add_part(delta)
        elif kind == "thought_summary":
            content = dict_or_empty(delta.get("content"))
            (self._add_text if content.get("type") == "text" else self._add_part)(content)
        elif kind == "thought_signature":
            self._set("signature", delta.get("signature"))
        elif kind == "arguments_delta":
            self._arguments.append(text_or_empty(delta.get("arguments")))
        elif kind == "text_annotation_delta":
            self._last_text().annotations += list_or_empty(delta.get("annotations"))
        elif self._is_shown:
            self._add_unknown(delta)
        else:
            for key, value in delta.items():
                if key != "type":
                    self._set(key, value)
        return ""

    def _set(self, key: str, value: Any) -> None:
        """Process a member of the step: lists and the texts of results grow, others arrive whole."""
        known = self._step.known
        if key == "result" and isinstance(value, str):
            self._step.grow(key, value)
        elif key == "result" and isinstance(value, list):
            known[key] = list_or_empty(known.get(key)) + value
        elif value not in (None, ""):
            known[key] = value

    def _last_text(self) -> "_Part":
        if not self._parts or not self._parts[-1].is_text:
            self._parts.append(_Part({"type": "text", "text": ""}))
        return self._parts[-1]

    def _add_text(self, delta: dict[str, Any]) -> str:
        text = text_or_empty(delta.get("text"))
        self._last_text().grow(text)
        return text if self._is_shown else ""

    def _add_part(self, given: dict[str, Any]) -> None:
        """Append media; audio arrives in pieces, each with its own bytes."""
        if not self._parts or not self._parts[-1].goes_on(given):
            self._parts.append(_Part(given))

    def _add_unknown(self, delta: dict[str, Any]) -> None:
        """Process a piece of a newer kind: a part by itself, which the next piece of its kind goes on with."""
        if not self._parts or not self._parts[-1].grow_by(delta):
            self._parts.append(_Part(delta))

    def value(self) -> dict[str, Any]:
        """Return the step, as received so far; truncated arguments are a text."""
        found = self._step.value()
        if self._parts:
            found[self._field] = [part.value() for part in self._parts]
        if arguments := "".join(self._arguments):
            found["arguments"] = _arguments(join_surrogates(arguments))
        return found


class _Part:
    """A part of a step: a text that grows, or media."""

    def __init__(self, start: dict[str, Any]) -> None:
        self.is_text = start.get("type") == "text"
        self.annotations: list[Any] = list(list_or_empty(start.get("annotations")))
        self._map = IncrementalMap({key: value for key, value in start.items() if key != "annotations"})
        self._data = [text_or_empty(start.get("data"))]

    @property
    def text(self) -> str:
        """Its text; media have none."""
        return self._map.text("text") if self.is_text else ""

    def grow(self, text: str) -> None:
        """Append to its text."""
        self._map.grow("text", text)

    def grow_by(self, given: dict[str, Any]) -> bool:
        """Process the next piece of a part of a newer kind; return whether it is one."""
        if self._map.known.get("type") != given.get("type"):
            return False
        self._map.add({key: value for key, value in given.items() if key != "type"})
        return True

    def goes_on(self, given: dict[str, Any]) -> bool:
        """Process the next piece of an audio part; return whether it is one."""
        same = all(given.get(key) == self._map.known.get(key) for key in ("type", "mime_type"))
        if not same or given.get("type") != "audio" or not self._data[0]:
            return False
        self._data.append(text_or_empty(given.get("data")))
        return True

    def value(self) -> dict[str, Any]:
        """Return the part, as received so far."""
        found = self._map.value()
        if len(self._data) > 1:
            found["data"] = _joined(self._data)
        return {**found, "annotations": self.annotations} if self.annotations else found


def _joined(pieces: list[str]) -> str:
    """Join pieces of base64, each of which may end in padding."""
    try:
        return b64encode(b"".join(b64decode(piece, validate=True) for piece in pieces)).decode()
    except (binascii.Error, ValueError):
        return "".join(pieces)


def _arguments(text: str) -> Any:
    try:
        found = parse_bounded(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, dict) else text
