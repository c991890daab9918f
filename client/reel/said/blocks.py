"""The blocks that messages consist of: a table of their shapes, and the check against it."""

from collections.abc import Callable
from typing import Any, TypeAlias

from reel.base.strict_json import parse
from reel.base.values import Numeral, is_clean, why_not_plain

# The longest name of a tool and id of a call, in characters.
MAX_NAME = 1024
# The most levels of lists and maps in data_json, the outermost included.
MAX_DEPTH = 10


class InvalidRecord(ValueError):
    """A row is not a valid message, although its kind is one of messages.

    Args:
        field: the path of the field that is wrong, such as ``data_json.tool_call_id``.
        reason: what is wrong with it, and what would be right.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


Check: TypeAlias = Callable[[Any], str | None]


def check_text(value: Any) -> str | None:
    """Require a string."""
    return None if type(value) is str else f"expected a string, got {kind_of(value)}"


def check_word(value: Any) -> str | None:
    """Require a clean string: a program interprets it, so nothing in it may be replaced."""
    if type(value) is not str:
        return f"expected a string, got {kind_of(value)}"
    return None if is_clean(value) else "NUL and lone surrogates are not allowed here"


def check_name(value: Any) -> str | None:
    """Require the name of a tool or the id of a call."""
    if (problem := check_word(value)) is not None:
        return problem
    return None if 1 <= len(value) <= MAX_NAME else f"must have 1 to {MAX_NAME} characters"


def check_map(value: Any) -> str | None:
    """Require a map of plain values."""
    if type(value) is not dict:
        return f"expected a map, got {kind_of(value)}"
    return why_not_plain(value, MAX_DEPTH)


def check_bool(value: Any) -> str | None:
    """Require a boolean; 0 and 1 are numbers."""
    return None if type(value) is bool else f"expected true or false, got {kind_of(value)}"


def check_json(value: Any) -> str | None:
    """Require a string of JSON, of any depth that the parser supports, because it is sent as a string."""
    if (problem := check_word(value)) is not None:
        return problem
    try:
        parse(value)
    except RecursionError:
        return "nested too deep to be parsed"
    except ValueError as error:
        return f"not JSON: {error}"
    return None


def kind_of(value: Any) -> str:
    """Return the name of a value's type in the terms of the protocol."""
    names = {type(None): "null", bool: "a boolean", int: "an integer", float: "a number", str: "a string"}
    names |= {list: "a list", dict: "a map", bytes: "bytes", Numeral: "a number"}
    return names.get(type(value), type(value).__name__)


_MAKER: dict[str, Check] = {"provider": check_word, "model": check_word}
# The shape of each type of block: required fields, optional fields. Any block may have provider_metadata too.
SHAPES: dict[str, tuple[dict[str, Check], dict[str, Check]]] = {
    "text": ({"text": check_text}, {}),
    "tool_call": ({"id": check_name, "name": check_name, "arguments": check_text}, {}),
    "tool_result": ({"tool_call_id": check_name}, {"is_error": check_bool}),
    "thinking": ({"text": check_text}, {"signature": check_word, **_MAKER}),
    "redacted_thinking": ({"data": check_word}, _MAKER),
    "media": ({"mime_type": check_word}, {"data_base64": check_word, "url": check_word, "name": check_text}),
    "opaque": ({"provider": check_word, "data_json": check_json}, {"model": check_word}),
}
# The types of block that a role, or a tool result, may have.
ALLOWED: dict[str, tuple[str, ...]] = {
    "user": ("text", "media", "opaque"),
    "assistant": ("text", "thinking", "redacted_thinking", "tool_call", "media", "opaque"),
    "tool": ("tool_result",),
    "tool_result": ("text", "media", "opaque"),
    "system": ("text",),
}


def check_blocks(blocks: Any, holder: str, where: str) -> None:
    """Check a list of blocks.

    Args:
        blocks: what should be a list of blocks.
        holder: what contains them, a key of ``ALLOWED``: a role, or ``tool_result``.
        where: the path of the list, for errors.

    Raises:
        InvalidRecord: a field is wrong; the error names the first such field.
    """
    if type(blocks) is not list:
        raise InvalidRecord(where, f"expected a string or a list of blocks, got {kind_of(blocks)}")
    if not blocks:
        raise InvalidRecord(where, "is empty; a message has at least one block (an empty text is one)")
    for index, block in enumerate(blocks):
        try:
            _check_block(block, holder)
        except InvalidRecord as error:
            raise InvalidRecord(f"{where}[{index}]{error.field}", error.reason) from None


def _check_block(block: Any, holder: str) -> None:
    """Check a block; an error has the path in the block, empty for the block itself."""
    if type(block) is not dict:
        raise InvalidRecord("", f"expected a block (a map with a type), got {kind_of(block)}")
    name = block.get("type")
    if type(name) is not str or name not in ALLOWED[holder]:
        raise InvalidRecord(".type", f"{name!r} is not allowed here; expected {', '.join(ALLOWED[holder])}")
    required, optional = SHAPES[name]
    for field, check in required.items():
        if field not in block:
            raise InvalidRecord(f".{field}", "is missing")
        if (problem := check(block[field])) is not None:
            raise InvalidRecord(f".{field}", problem)
    for field, value in block.items():
        if field in required or field == "type" or (name == "tool_result" and field == "content"):
            continue
        if field not in optional and field != "provider_metadata":
            content = ["content"] if name == "tool_result" else []
            known = ", ".join([*required, *content, *optional, "provider_metadata"])
            raise InvalidRecord(f".{field}", f"a {name} block has no such field; it has {known}")
        check = optional.get(field, check_map)
        if value is not None and (problem := check(value)) is not None:
            raise InvalidRecord(f".{field}", problem)
    if name == "media" and (block.get("data_base64") is None) == (block.get("url") is None):
        raise InvalidRecord("", "a media block has either data_base64 or url")
    if name == "tool_result":
        _check_output(block)


def _check_output(block: dict[str, Any]) -> None:
    if "content" not in block:
        raise InvalidRecord(".content", "is missing")
    content = block["content"]
    if type(content) is not str:
        check_blocks(content, "tool_result", ".content")
