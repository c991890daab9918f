"""The rows of messages as nearly all are, in half the time: their blocks have texts and names and nothing else.

Such blocks need no look inside: they are valid, no part of them is too deep, and none has a number. Any other message
is read by :mod:`reeld.core.validation`, which also says what is wrong with it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from reel.base.light_typing import NamedTuple
from reel.base.values import is_clean, new_tuple
from reel.said.blocks import ALLOWED, MAX_NAME, SHAPES, check_name
from reeld.core.rows import CheckedRow, Row, row_from_blocks, shallow_parts


class _Shape(NamedTuple):
    """The fields that a block has at least and at most, and which of them are names."""

    least: frozenset[str]
    most: frozenset[str]
    names: Sequence[str]


# The role, the blocks and the metadata of a message.
_Message: TypeAlias = tuple[str, list[Any], dict[str, Any]]


def _shape(name: str) -> _Shape:
    required, optional = SHAPES[name]
    least = {"type", *required, *(["content"] if name == "tool_result" else [])}
    names = [field for field, check in required.items() if check is check_name]
    return _Shape(frozenset(least), frozenset({*least, *optional}), names)


# A media block has a rule of its own, and an opaque one has JSON.
_SHAPES = {name: _shape(name) for name in ("text", "thinking", "redacted_thinking", "tool_call", "tool_result")}
_BLOCKS: Mapping[str, Mapping[str, _Shape]] = {
    role: {name: _SHAPES[name] for name in ALLOWED[role] if name in _SHAPES} for role in ("user", "assistant", "tool")
}
_TEXT = frozenset({str})
# The types of what has nothing inside, and is no number.
_PLAIN = frozenset({str, bool, type(None)})


def usual_rows(elements: Sequence[Any], fields: frozenset[str]) -> list[CheckedRow | None]:
    """Return the row of each usual message, and ``None`` for any other element, valid or not.

    Args:
        elements: the elements; see :mod:`reel.base.batches` for how many.
        fields: those that a message may have.
    """
    messages = [_message(each) if type(each) is dict and each.keys() <= fields else None for each in elements]
    rows = [None if message is None else row_from_blocks(*message) for message in messages]
    return [
        None if message is None or row is None else _checked(row, message)
        for row, message in zip(rows, messages, strict=True)
    ]


def _message(given: dict[str, Any]) -> _Message | None:
    """Return a message whose blocks and metadata are usual; ``None`` for any other."""
    role, content, metadata = given.get("role"), given.get("content"), given.get("provider_metadata")
    blocks = [{"type": "text", "text": content}] if type(content) is str else content
    if type(role) is not str or type(blocks) is not list or not blocks:
        return None
    shapes = _BLOCKS.get(role)
    if shapes is None:
        return None
    for block in blocks:
        if type(block) is not dict or not _is_usual(block, shapes):
            return None
    if metadata is None:
        return role, blocks, {}
    if type(metadata) is not dict or not _TEXT.issuperset(map(type, metadata)):
        return None
    return (role, blocks, metadata) if _PLAIN.issuperset(map(type, metadata.values())) else None


def _is_usual(block: dict[str, Any], shapes: Mapping[str, _Shape]) -> bool:
    kind = block.get("type")
    shape = shapes.get(kind) if type(kind) is str else None
    if shape is None or not shape.least <= block.keys() <= shape.most:
        return False
    texts = [*map(type, block.values())].count(str)
    if texts != len(block) - ("is_error" in block) or type(block.get("is_error", False)) is not bool:
        return False
    for name in shape.names:  # noqa: SIM110 - a generator takes as long as the rest
        if not 0 < len(block[name]) <= MAX_NAME:
            return False
    return True


def _checked(row: Row, message: _Message) -> CheckedRow | None:
    """Return the row of a message with what was parsed from it; ``None`` if something in it may not be clean."""
    content, data = row.content, row.data_json
    if content is not None and not is_clean(content):
        return None
    if data is None:
        return new_tuple(CheckedRow, (row, None))
    if "\\u0000" in data or not is_clean(data):
        return None
    return new_tuple(CheckedRow, (row, shallow_parts(row, *message)))
