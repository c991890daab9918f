"""Anthropic's cache breakpoints: selecting those to send, and placing new ones (rules A7 and A15)."""

from collections.abc import Callable, Iterator
from typing import Any

from reel.base.strict_json import Json
from reeld.formats.anthropic.rules import CACHE_CONTROL, may_be_marked

# The breakpoints of a body (rule A7).
MOST = 4


def count(content: Any) -> int:
    """Return the number of cache breakpoints of some content."""
    return sum(map(_is_marked, _blocks(content)))


def own(fields: Json) -> int:
    """Return the number of breakpoints at the top of a body, and of its tools."""
    return _is_marked(fields) + count(fields.get("tools"))


def mark_top(fields: Json, ttl: str, _model: str | None) -> Json:
    """Return the body without its history with a breakpoint after the tools, and one after the prompt (rule A15)."""
    marked = dict(fields)
    system = fields.get("system")
    if type(system) is str and system:
        system = [{"type": "text", "text": system}]
    lists: tuple[tuple[str, Any], ...] = (("tools", fields.get("tools")), ("system", system))
    for key, found in lists:
        last = _last(found, lambda part: type(part) is dict and part.get("defer_loading") is not True)
        if last is not None:
            marked[key] = _marked(found, last, ttl)
    return marked


def mark_end(item: Json, ttl: str, _model: str | None) -> Json | None:
    """Return a message with a breakpoint at its end; ``None`` if none of its blocks can have one (rule A15)."""
    content = item["content"] if item["role"] != "system" else []
    last = _last(content, lambda block: may_be_marked(block["type"]))
    return None if last is None else {**item, "content": _marked(content, last, ttl)}


def _last(parts: Any, can_be_marked: Callable[[Any], bool]) -> int | None:
    """Return the place of the last part of a list that can have a breakpoint."""
    places = reversed(range(len(parts))) if type(parts) is list else ()
    return next((place for place in places if can_be_marked(parts[place])), None)


def _marked(parts: list[Any], place: int, ttl: str) -> list[Any]:
    marked = {**parts[place], CACHE_CONTROL: {"type": "ephemeral", "ttl": ttl}}
    return [*parts[:place], marked, *parts[place + 1 :]]


def _is_marked(holder: Json) -> bool:
    return holder.get(CACHE_CONTROL) is not None


def _blocks(content: Any) -> Iterator[Json]:
    """Return the blocks of some content in the order of their breakpoints: nested blocks before their container."""
    for block in content if type(content) is list else ():
        if type(block) is dict:
            inner = block.get("content")
            yield from (part for part in inner if type(part) is dict) if type(inner) is list else ()
            yield block


def newest(content: list[Any], number: int) -> list[Any]:
    """Return content with only its newest cache breakpoints, ``number`` of them."""
    old = count(content) - number
    passed = 0

    def keep(block: Any) -> Any:
        nonlocal passed
        if type(block) is not dict or not _is_marked(block):
            return block
        passed += 1
        return block if passed > old else {key: value for key, value in block.items() if key != CACHE_CONTROL}

    return [keep(_inside(block, keep)) for block in content]


def _inside(block: Any, keep: Callable[[Any], Any]) -> Any:
    if type(block) is dict and type(block.get("content")) is list:
        return {**block, "content": [keep(part) for part in block["content"]]}
    return block
