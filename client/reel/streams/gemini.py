"""Chunks of ``streamGenerateContent`` (``google.genai.types.GenerateContentResponse``) folded into one response."""

from typing import Any

from reel.streams.incremental import Growing, a_list, a_map, a_text, an_index
from reel.streams.partial import PartialCall

# What a part may have beside its text and still go together with its neighbour.
_TEXT_KEYS = frozenset({"text", "thought", "thoughtSignature"})
# Lists that every chunk adds to: the Gemini API's name and Vertex's.
_CITATIONS = ("citationSources", "citations")
_OF_A_CHUNK = ("candidates", "error")


class Gemini:
    """The response so far; ``complete`` once the first candidate says why it ended, or the prompt was blocked."""

    def __init__(self) -> None:
        self.complete = False
        self._top: dict[str, Any] = {}
        self._candidates: dict[int, _Candidate] = {}

    def feed(self, _name: str, chunk: dict[str, Any]) -> str:
        """Fold a chunk; give the text that it brings."""
        self._top.update({key: value for key, value in chunk.items() if key not in _OF_A_CHUNK and value is not None})
        self.complete = self.complete or "blockReason" in a_map(chunk.get("promptFeedback"))
        text = ""
        for candidate in map(a_map, a_list(chunk.get("candidates"))):
            index = an_index(candidate.get("index"))
            brought = self._candidates.setdefault(index, _Candidate()).feed(candidate)
            if index == 0:
                text += brought
                self.complete = self.complete or candidate.get("finishReason") is not None
        return text

    def done(self) -> None:
        """Take a ``[DONE]``, which this API does not send."""

    def body(self) -> dict[str, Any]:
        """Give the response, as far as it has come."""
        candidates = [candidate.value() for _, candidate in sorted(self._candidates.items())]
        return {"candidates": candidates, **self._top} if candidates else self._top


class _Candidate:
    def __init__(self) -> None:
        self._top: dict[str, Any] = {}
        self._content: dict[str, Any] = {"role": "model"}
        self._parts: list[Growing | PartialCall] = []

    def feed(self, candidate: dict[str, Any]) -> str:
        content = a_map(candidate.get("content"))
        for key, value in candidate.items():
            if key == "citationMetadata":
                self._top[key] = _cited(a_map(self._top.get(key)), a_map(value))
            elif key != "content" and value is not None:
                self._top[key] = value
        self._content.update({key: value for key, value in content.items() if key != "parts" and value is not None})
        return "".join(map(self._take, map(a_map, a_list(content.get("parts")))))

    def _take(self, part: dict[str, Any]) -> str:
        """Put a part after the others, or into the last one: a text that goes on, or its signature.

        A signature belongs to the text that it came with or after, so what follows it is another part.
        """
        text = a_text(part.get("text"))
        last = self._parts[-1] if self._parts else None
        if isinstance(last, PartialCall) and last.open and "functionCall" in part:
            last.feed(part)
        elif "willContinue" in a_map(part.get("functionCall")):
            self._parts.append(PartialCall(part))
        elif isinstance(last, Growing) and _goes_on(last.known, part):
            last.grow("text", text)
            if "thoughtSignature" in part:
                last.known["thoughtSignature"] = part["thoughtSignature"]
        else:
            self._parts.append(Growing(part))
        return "" if part.get("thought") else text

    def value(self) -> dict[str, Any]:
        content = {"parts": [part.value() for part in self._parts], **self._content}
        return {"content": content, **self._top} if self._parts else self._top


def _goes_on(last: dict[str, Any], part: dict[str, Any]) -> bool:
    return (
        last.keys() <= _TEXT_KEYS
        and part.keys() <= _TEXT_KEYS
        and "thoughtSignature" not in last
        and "text" in last
        and bool(last.get("thought")) == bool(part.get("thought"))
    )


def _cited(known: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    lists = {key: a_list(known.get(key)) + a_list(given[key]) for key in _CITATIONS if key in given}
    return {**known, **given, **lists}
