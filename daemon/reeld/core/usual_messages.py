"""The rows of messages as nearly all are, in half the time: their blocks have texts and names and nothing else.

Such blocks need no look inside: they are valid, no part of them is too deep, and none has a number. Metadata has few
levels, and no number that becomes text. Any other message is read by :mod:`reeld.core.validation`, which also says what
is wrong with it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from reel.base.light_typing import NamedTuple
from reel.base.values import MAX_INTEGER, is_clean, new_tuple
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
# The types of values that have nothing inside, and are no numbers.
_PLAIN = frozenset({str, bool, type(None)})
# The most levels of maps in metadata that is looked at here; a message may have more.
_LEVELS = 4


def usual_rows(elements: Sequence[Any], fields: frozenset[str]) -> list[CheckedRow | None]:
    """Return the row of each usual message, and ``None`` for any other element, valid or not.

    Args:
        elements: the elements; see :mod:`reel.base.batches` for how many.
        fields: those that a message may have.
    """
    messages = [_message(each, fields) for each in elements]
    rows = [None if message is None else row_from_blocks(*message) for message in messages]
    return [
        None if message is None or row is None else _checked(row, message)
        for row, message in zip(rows, messages, strict=True)
    ]


def usual_row(element: Any, fields: frozenset[str]) -> CheckedRow | None:
    """Return what :func:`usual_rows` does, for one element."""
    message = _message(element, fields)
    return None if message is None else _checked(row_from_blocks(*message), message)


def _message(given: Any, fields: frozenset[str]) -> _Message | None:
    """Return a message that has only some fields, and whose metadata and blocks are usual; ``None`` for any other."""
    if type(given) is not dict or not given.keys() <= fields:
        return None
    role, content, metadata = given.get("role"), given.get("content"), given.get("provider_metadata")
    shapes = _BLOCKS.get(role) if type(role) is str else None
    if role is None or shapes is None or not (metadata is None or _is_plain(metadata)):
        return None
    if type(content) is str:
        return (role, [{"type": "text", "text": content}], metadata or {}) if "text" in shapes else None
    if type(content) is not list or not content:
        return None
    for block in content:
        if type(block) is not dict or not _is_usual(block, shapes):
            return None
    return role, content, metadata or {}


def _is_plain(value: Any, levels: int = _LEVELS) -> bool:
    """Return whether something is a map of texts, integers that are not large and the like, or of such maps."""
    if type(value) is not dict or not _TEXT.issuperset(map(type, value)):
        return False
    inside = value.values()
    if _PLAIN.issuperset(map(type, inside)):
        return True
    return levels > 1 and all(
        type(each) in _PLAIN
        or (type(each) is int and -MAX_INTEGER <= each <= MAX_INTEGER)
        or _is_plain(each, levels - 1)
        for each in inside
    )


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
