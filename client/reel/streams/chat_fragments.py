"""Lists that servers other than OpenAI's stream in fragments: content with reasoning, and reasoning details."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from reel.streams.incremental import IncrementalMap, list_or_empty, text_or_empty

# The kinds of reasoning details that come in fragments, and the field that grows (OpenRouter).
_GROWING = {"reasoning.text": "text", "reasoning.summary": "summary"}
_TEXT_KEYS = {"type", "text"}


def parts_of(content: Any) -> list[Any]:
    """Return the content of a chunk as parts: a text is one part."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list_or_empty(content)


def text_in(content: Any) -> str:
    """Return the text of a chunk's content, without reasoning."""
    if isinstance(content, str):
        return content
    return "".join(text_or_empty(part.get("text")) for part in list_or_empty(content) if _kind(part) == "text")


def joined_parts(fragments: Iterable[Any]) -> list[Any]:
    """Join neighbouring parts of one kind: texts, and reasoning as Mistral streams it."""
    parts: list[Any] = []
    for kind, run in groupby(fragments, key=_kind):
        if kind == "text":
            text = IncrementalMap({"type": "text"})
            for part in run:
                text.grow("text", part["text"])
            parts.append(text.value())
        elif kind == "thinking":
            head: dict[str, Any] = {}
            inside: list[Any] = []
            for part in run:
                head.update(part)
                inside += parts_of(part.get("thinking"))
            parts.append({**head, "thinking": joined_parts(inside)})
        else:
            parts += run
    return parts


def _kind(part: Any) -> str:
    """Return ``text`` for a pure text, ``thinking`` for reasoning, and an empty text for any other part."""
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text":
        return "text" if part.keys() <= _TEXT_KEYS and isinstance(part.get("text"), str) else ""
    return "thinking" if kind == "thinking" else ""


def joined_details(fragments: Iterable[Any]) -> list[Any]:
    """Join the fragments of reasoning details by their kind and index, as OpenRouter streams them.

    A signature covers the whole text, so fragments would be refused. One without an index continues the last.
    """
    details: list[Any] = []
    begun: dict[tuple[str, int], IncrementalMap] = {}
    for fragment in fragments:
        kind = str(fragment.get("type")) if isinstance(fragment, dict) else ""
        if kind not in _GROWING:
            details.append(fragment)
            continue
        index = fragment.get("index")
        last = details[-1] if details else None
        known = begun.get((kind, index)) if type(index) is int else last
        if not isinstance(known, IncrementalMap) or known.known.get("type") != kind:
            known = IncrementalMap({})
            details.append(known)
        if type(index) is int:
            begun[kind, index] = known
        field = _GROWING[kind]
        given = {key: value for key, value in fragment.items() if value is not None}
        known.known.update({key: "" if key == field else value for key, value in given.items()})
        known.grow(field, text_or_empty(fragment.get(field)))
    return [detail.value() if isinstance(detail, IncrementalMap) else detail for detail in details]
