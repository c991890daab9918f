"""Anthropic's cache breakpoints: selecting those to send, and placing new ones (rules A7 and A15)."""

from collections.abc import Callable, Iterator
from typing import Any

from reel.base.strict_json import Json
from reeld.formats.anthropic.rules import CACHE_CONTROL, MAX_CACHE_BREAKPOINTS
from reeld.formats.model import is_thought


def count(item: Json) -> int:
    """Return the number of cache breakpoints of a message."""
    return sum(_is_marked(block) for block in _blocks(item.get("content")))


def keep_newest(item: Json, number: int) -> Json:
    """Return a message with only its newest cache breakpoints, ``number`` of them."""
    return {**item, "content": _newest(item["content"], number)}


def fit_top(fields: Json) -> tuple[Json, int, int]:
    """Leave out the excess breakpoints of the prompt.

    Args:
        fields: the body without its history. The breakpoints at its top and of its tools belong to the caller.

    Returns:
        the fields, how many breakpoints were left out, and how many are left for the history.
    """
    own = sum(_is_marked(holder) for holder in (fields, *_blocks(fields.get("tools"))))
    room = max(MAX_CACHE_BREAKPOINTS - own, 0)
    found = sum(map(_is_marked, _blocks(fields.get("system"))))
    if found > room:
        fields = {**fields, "system": _newest(fields["system"], room)}
    return fields, max(found - room, 0), max(room - found, 0)


def mark_top(fields: Json, ttl: str, _model: str | None) -> Json:
    """Return the body without its history with a breakpoint after the tools, and one after the prompt (rule A15)."""
    marked = dict(fields)
    system = fields.get("system")
    if type(system) is str and system:
        system = [{"type": "text", "text": system}]
    for key, found in (("tools", fields.get("tools")), ("system", system)):
        if type(found) is list and found and type(found[-1]) is dict:
            marked[key] = [*found[:-1], {**found[-1], CACHE_CONTROL: _breakpoint(ttl)}]
    return marked


def mark_end(item: Json, ttl: str, _model: str | None) -> Json | None:
    """Return a message with a breakpoint at its end; ``None`` if none of its blocks can have one (rule A15)."""
    content = item["content"] if item["role"] != "system" else []
    index = next((index for index in reversed(range(len(content))) if not is_thought(content[index])), None)
    if index is None:
        return None
    marked = {**content[index], CACHE_CONTROL: _breakpoint(ttl)}
    return {**item, "content": [*content[:index], marked, *content[index + 1 :]]}


def _breakpoint(ttl: str) -> Json:
    return {"type": "ephemeral", "ttl": ttl}


def _is_marked(holder: Json) -> bool:
    return holder.get(CACHE_CONTROL) is not None


def _blocks(content: Any) -> Iterator[Json]:
    """Return the blocks of some content in the order of their breakpoints: nested blocks before their container."""
    for block in content if type(content) is list else ():
        if type(block) is dict:
            inner = block.get("content")
            yield from (part for part in inner if type(part) is dict) if type(inner) is list else ()
            yield block


def _newest(content: list[Any], number: int) -> list[Any]:
    old = sum(map(_is_marked, _blocks(content))) - number
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
