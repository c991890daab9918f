"""Extracts the searchable texts of an event.

These are the texts that people and models wrote: texts, thinking, the names and arguments of calls, results, file
names, prompts, notes, and the names and titles of agents. Signatures, encoded files and opaque provider data are not
searched.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from reel.base.strict_json import parse
from reel.base.values import clean
from reel.said.blocks import InvalidRecord
from reel.said.kinds import ROLES
from reel.said.records import read_row
from reeld.core.events import data_of

# The kind, the content and the data of an event.
Text: TypeAlias = tuple[str, str | None, str | None]
# Characters of one block, and of all blocks of an event.
MAX_BLOCK = 256 << 10
MAX_EVENT = 1 << 20
# In SQL, what is true of an event whose text is its content, or the beginning of it.
IS_CONTENT = f"data_json IS NULL AND kind IN {(*ROLES, 'system', 'note')}"
# The kinds of messages whose text is the content, unless the data has blocks.
_SPEAKERS = ("user", "assistant")


def blocks_of(kind: str, content: str | None, data_json: str | None) -> list[Any] | None:
    """Return the blocks of a message; ``None`` if the event is no valid one."""
    try:
        parts = read_row(kind, content, data_json)
    except InvalidRecord:
        return None
    return None if parts is None else list(parts.content)


def text_of(
    kind: str,
    content: str | None,
    data_json: str | None,
    *,
    thinking: bool = True,
    blocks: Sequence[Any] | None = None,
) -> str:
    """Return the searchable text of an event, or an empty string.

    Args:
        kind: the kind of the event.
        content: its content.
        data_json: its data.
        thinking: whether what models thought is a part of it.
        blocks: its blocks, if they have been read.
    """
    if kind in ROLES and (data_json is None or _is_metadata(kind, data_json)):  # as of most events
        return (content or "")[:MAX_BLOCK]
    texts = _texts(kind, content, data_json, thinking, blocks)
    text = "\n".join([text[:MAX_BLOCK] for text in texts if text])[:MAX_EVENT]
    return clean(text)[0]  # JSON may have escapes of NUL and of half a character


def _is_metadata(kind: str, data_json: str) -> bool:
    """Return whether it is certain, without parsing it, that data is metadata: then the content is the whole text.

    Parsing and checking the data of an item takes 16 us, this 0.5.
    """
    # With an escape, a key may be "blocks" as well.
    return kind in _SPEAKERS and '"blocks"' not in data_json and "\\u" not in data_json


def _texts(
    kind: str,
    content: str | None,
    data_json: str | None,
    thinking: bool,  # noqa: FBT001
    blocks: Sequence[Any] | None,
) -> list[str]:
    if kind in ROLES:
        given = blocks_of(kind, content, data_json) if blocks is None else blocks
        if given is None:
            return [content or ""]
        found: list[str] = []
        _add_texts(given, thinking, found)
        return found
    if kind in ("created", "changed"):
        data = data_of(data_json)
        return [value for field in ("title", "name") if isinstance(value := data.get(field), str)]
    if kind == "note":
        return [content or "", *_strings(data_of(data_json))]
    return [content or ""] if kind == "system" else []


def _add_texts(blocks: Iterable[Mapping[str, Any]], thinking: bool, found: list[str]) -> None:  # noqa: FBT001
    """Add the texts of blocks to a list: to yield them takes three times as long."""
    for block in blocks:
        kind = block["type"]
        if kind == "text" or (kind == "thinking" and thinking):
            found.append(block["text"])
        elif kind == "tool_call":
            found += block["name"], _arguments(block["arguments"])
        elif kind == "tool_result":
            if isinstance(block["content"], str):
                found.append(block["content"])
            else:
                _add_texts(block["content"], thinking, found)
        elif kind == "media":
            found.append(block.get("name") or "")


def _arguments(arguments: str) -> str:
    r"""Return the names and texts of a call's arguments; escapes such as ``\n`` are not letters."""
    if "\\" not in arguments:
        return arguments
    try:
        return "\n".join(_strings(parse(arguments)))
    except (ValueError, RecursionError):
        return arguments


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inside in value.items():
            yield name
            yield from _strings(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from _strings(inside)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
