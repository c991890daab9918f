"""Validation of what a client adds, and its conversion into rows.

Everything is checked here, before anything changes. Characters that free text cannot hold are replaced and counted;
anything else that is wrong is refused, with the index of the message and the path of the field.
"""

from typing import Any

from reel.base.errors import InvalidMessage, InvalidParams
from reel.base.ids import is_id, is_name
from reel.base.light_typing import NamedTuple
from reel.base.strict_json import encode, parse_bounded
from reel.base.values import MAX_INTEGER, clean, clean_deep, is_clean, new_tuple
from reel.said.blocks import InvalidRecord, check_blocks, check_map, check_text, check_word, kind_of
from reel.said.kinds import ADDABLE, KNOWN, LEGACY, ROLES
from reel.said.records import Parts, parse_data, read_exactly
from reeld.core.events import Origin
from reeld.core.rows import CheckedRow, Row, parts_of, row_from_blocks, text_row, with_origin, with_parts
from reeld.core.usual_messages import usual_row

# The fields of an element's origin; and the last millisecond of the year 9999, the last that most calendar libraries
# support.
_ORIGIN = frozenset({"sent", "ref"})
_OF_A_MESSAGE = frozenset({"role", "content", "provider_metadata", "sent", "ref", "seq", "time"})
LAST_TIME = 253_402_300_799_999
# Bytes of a reference in UTF-8.
MAX_REF = 256
# Characters of the key of a value, and of its JSON.
MAX_KEY = 256
MAX_VALUE = 1 << 20
# The number of fields of a message, and of a block, that is one text: `role` and `content`, `type` and `text`.
_TEXT_FIELDS = 2


class Altered(NamedTuple):
    """How many characters of free text were replaced, and how many numbers messages have as text."""

    replaced: int = 0
    numbers_as_text: int = 0

    def as_map(self) -> dict[str, int]:
        """Return the fields of the reply to the command."""
        return {what: count for what, count in self._asdict().items() if count} if any(self) else {}


UNALTERED = Altered()


class Expected(NamedTuple):
    """The seq that the value of a key is expected to have, 0 for none; and the index of the record."""

    key: str
    seq: int
    number: int


def rows_from(
    messages: Any, refs: dict[str, int] | None = None, expected: list[Expected] | None = None
) -> tuple[list[CheckedRow], Altered]:
    """Turn the parameter ``messages`` into rows.

    Args:
        messages: a string (one user text), or a list of strings, messages and records.
        refs: collects the index of each element that has a reference, by the reference.
        expected: collects the expected seqs of values that are replaced.

    Returns:
        the rows, and how much of the messages was altered.

    Raises:
        InvalidParams: it is neither, or empty.
        InvalidMessage: an element is not a message, or two have one reference; ``data`` has ``index`` and ``field``.
    """
    refs = {} if refs is None else refs
    if type(messages) is str:
        content, replaced = clean(messages)
        return [text_row("user", content)], Altered(replaced) if replaced else UNALTERED
    if type(messages) is not list or not messages:
        raise InvalidParams(
            "messages: expected a string, a message or a list of at least one message",
            field="messages",
        )
    rows: list[CheckedRow] = []
    replaced = numbers = 0
    for index, element in enumerate(messages):
        if type(element) is str and is_clean(element):
            rows.append(text_row("user", element))
            continue
        if type(element) is dict and (row := plain_text(element)) is not None:
            rows.append(row)
            continue
        try:
            if type(element) is dict and element.get("kind") == "state":
                element = _noted(element, index, [] if expected is None else expected)  # noqa: PLW2901 - without that
            made, replaced_here, numbers_here = read_element(element)
            note_ref(made.row.origin, index, refs)
        except InvalidRecord as error:
            raise InvalidMessage(f"messages[{index}].{error}", index=index, field=error.field) from None
        rows.append(made)
        replaced += replaced_here
        numbers += numbers_here
    return rows, Altered(replaced, numbers) if replaced or numbers else UNALTERED


def plain_text(message: dict[str, Any]) -> CheckedRow | None:
    """Return the row of a message that is just one clean text; ``None`` for any other, valid or not.

    Most messages are. The result is that of :func:`_from_message`, in a fifth of the time.
    """
    if len(message) != _TEXT_FIELDS:
        return None
    role, content = message.get("role"), message.get("content")
    if type(content) is list and len(content) == 1:
        block = content[0]
        if type(block) is not dict or len(block) != _TEXT_FIELDS or block.get("type") != "text":
            return None
        content = block.get("text")
    if type(content) is not str or (role != "user" and role != "assistant") or not is_clean(content):  # noqa: PLR1714 - the role may be anything, and need not have a hash
        return None
    return text_row(role, content)


def read_element(element: Any) -> tuple[CheckedRow, int, int]:
    """Return the row of one element, how many of its characters were replaced, and how many numbers are text.

    Raises:
        InvalidRecord: it is neither a message nor a record.
    """
    origin = None
    if type(element) is dict and not _ORIGIN.isdisjoint(element):
        origin = origin_from(element.get("sent"), element.get("ref"))
    usual = usual_row(element, _OF_A_MESSAGE)
    made, replaced, numbers = read_carefully(element) if usual is None else (usual, 0, 0)
    return made if origin is None else with_origin(made, origin), replaced, numbers


def read_carefully(element: Any) -> tuple[CheckedRow, int, int]:
    """Return what :func:`read_element` does, without the origin: of any element, and none is quick.

    Raises:
        InvalidRecord: it is neither a message nor a record.
    """
    row, parts, replaced = _row_from(element)
    made, numbers = with_parts(row, parts)
    return made, replaced, numbers


def origin_from(sent: Any, ref: Any) -> Origin:
    """Return the origin of an element.

    Raises:
        InvalidRecord: its time or its reference is invalid.
    """
    if sent is not None and (type(sent) is not int or not 0 <= sent <= LAST_TIME):
        shown = sent if type(sent) is int else kind_of(sent)
        raise InvalidRecord("sent", f"expected milliseconds since 1970, at most {LAST_TIME}, got {shown}")
    if ref is not None:
        _check(check_word(ref), "ref")
        size = len(ref) if ref.isascii() else len(ref.encode())
        if not 1 <= size <= MAX_REF:
            raise InvalidRecord("ref", f"must have 1 to {MAX_REF} bytes, has {size}")
    return new_tuple(Origin, (sent, ref))


def note_ref(origin: Origin | None, index: int, refs: dict[str, int], what: str = "messages") -> None:
    """Note the index of an element that has a reference.

    Raises:
        InvalidRecord: one before it has the same.
    """
    if origin is None or origin.ref is None:
        return
    first = refs.setdefault(origin.ref, index)
    if first != index:
        raise InvalidRecord("ref", f"{what}[{first}] has {origin.ref!r} already; give each its own")


def _noted(record: dict[str, Any], index: int, expected: list[Expected]) -> dict[str, Any]:
    """Note the expected seq of the value that a record replaces; return the rest of the record."""
    seq = record.get("if_seq")
    if seq is not None and (type(seq) is not int or not 0 <= seq <= MAX_INTEGER):
        raise InvalidRecord(
            "if_seq", f"expected a seq, or 0 for no value, got {seq if type(seq) is int else kind_of(seq)}"
        )
    require_key(record)
    if seq is not None:
        expected.append(Expected(record["content"], seq, index))
    return {name: value for name, value in record.items() if name != "if_seq"}


def require_key(record: dict[str, Any]) -> None:
    """Refuse the record of a value that has no valid key.

    Raises:
        InvalidRecord: it has none.
    """
    key = record.get("content")
    if type(key) is not str or not is_clean(key) or not 1 <= len(key) <= MAX_KEY:
        raise InvalidRecord("content", f"expected a key of 1 to {MAX_KEY} characters without NUL and lone surrogates")


def _row_from(element: Any) -> tuple[Row, Parts | None, int]:
    """Return the row of one element, what is read of it, and how many of its characters were replaced."""
    if type(element) is str:
        content, replaced = clean(element)
        return Row("user", content, None), None, replaced
    if type(element) is dict:
        if "kind" not in element:
            return _from_message(element)
        row, replaced = _from_record(element)
        return row, read_exactly(row.kind, row.content, row.data_json), replaced
    raise InvalidRecord("role", f"expected a string, a message or a record, got {kind_of(element)}")


def _from_record(record: dict[str, Any]) -> tuple[Row, int]:
    """Return the row of a record; its seq and time are ignored, because the daemon sets them."""
    _only(record, ("kind", "content", "data_json", "sent", "ref", "seq", "time"), "a record")
    kind, content, data_json = record["kind"], record.get("content"), record.get("data_json")
    if type(kind) is not str or kind not in ADDABLE:
        raise InvalidRecord("kind", _why_not(kind))
    replaced = 0
    if content is not None:
        _check(check_text(content), "content")
        content, replaced = clean(content)
    elif kind == "system":
        raise InvalidRecord("content", "expected a string, got null (an empty one removes the prompt)")
    if data_json is not None:
        _check(check_word(data_json), "data_json")
        if kind not in ROLES:  # other data is parsed when the message is read
            data = parse_data(data_json)
            if kind == "state":
                _check_value(data_json, data)
    return Row(kind, content, data_json), replaced


def _check_value(data_json: str, data: dict[str, Any]) -> None:
    """Require the data of a value: the value, or the JSON of one that is deeper than data may be."""
    if len(data_json) > MAX_VALUE:
        raise InvalidRecord("data_json", f"a value may have {MAX_VALUE} characters, this one has {len(data_json)}")
    if data.keys() != {"value"} and data.keys() != {"value_json"}:
        raise InvalidRecord("data_json", "expected an object with value, or with value_json; null removes the value")
    if "value_json" in data:
        text = data["value_json"]
        _check(check_text(text), "data_json.value_json")
        try:
            parse_bounded(text)
        except (ValueError, RecursionError) as error:
            raise InvalidRecord("data_json.value_json", f"not JSON: {error}") from None


def _why_not(kind: Any) -> str:
    if type(kind) is not str:
        return f"expected a string, got {kind_of(kind)}"
    if kind in LEGACY:
        return f"{kind!r} is only read from old logs; add {'tool_result' if kind == 'tool' else 'a clone'} instead"
    if kind in KNOWN:
        return f"{kind!r} has a command of its own and cannot be added"
    return f"{kind!r} is unknown; expected one of {', '.join(sorted(ADDABLE))}"


def _from_message(message: dict[str, Any]) -> tuple[Row, Parts | None, int]:
    _only(message, ("role", "content", "provider_metadata", "sent", "ref", "seq", "time"), "a message")
    role = message.get("role")
    if role not in ("user", "assistant", "tool", "system"):
        raise InvalidRecord("role", f"expected user, assistant, tool or system, got {role!r}")
    content, metadata = message.get("content"), message.get("provider_metadata")
    blocks = [{"type": "text", "text": content}] if type(content) is str else _with_arguments_as_text(content)
    check_blocks(blocks, role, "content")
    if metadata is not None:
        _check(check_map(metadata), "provider_metadata")
    metadata, replaced = metadata or {}, 0
    row = row_from_blocks(role, blocks, metadata)
    if not _is_clean(row):
        (blocks, metadata), replaced = clean_deep([blocks, metadata])
        row = row_from_blocks(role, blocks, metadata)
    return row, parts_of(row, role, blocks, metadata), replaced


def _is_clean(row: Row) -> bool:
    """Return whether every string in a row is clean; a text that only looks like an escaped NUL may count as unclean.

    Two texts are looked at, whatever is in them: to look at each string takes a tenth of the reading of a stretch more.
    """
    content, data = row.content, row.data_json
    return (content is None or is_clean(content)) and (data is None or ("\\u0000" not in data and is_clean(data)))


def _with_arguments_as_text(content: Any) -> Any:
    """Return blocks whose calls have the text of their arguments, which may be given as a map.

    Raises:
        InvalidRecord: the arguments of a call are neither.
    """
    if type(content) is not list or not any(map(_is_call_without_text, content)):
        return content
    blocks: list[Any] = []
    for index, block in enumerate(content):
        if not _is_call_without_text(block):
            blocks.append(block)
            continue
        arguments, where = block["arguments"], f"content[{index}].arguments"
        if type(arguments) is not dict:
            raise InvalidRecord(where, f"expected JSON text, or a map, got {kind_of(arguments)}")
        _check(check_map(arguments), where)
        blocks.append({**block, "arguments": encode(arguments)})
    return blocks


def _is_call_without_text(block: Any) -> bool:
    return type(block) is dict and block.get("type") == "tool_call" and type(block.get("arguments", "")) is not str


def _only(given: dict[str, Any], fields: tuple[str, ...], what: str) -> None:
    for field in given:
        if field not in fields:
            raise InvalidRecord(str(field), f"{what} has no such field; it has {', '.join(fields[:-2])}")


def _check(problem: str | None, field: str) -> None:
    if problem is not None:
        raise InvalidRecord(field, problem)


def why_not_a_name(text: str) -> str | None:
    """Return why a text cannot be the name of an agent, or ``None`` if it can."""
    if is_id(text):
        return "32 hex digits are an id, not a name"
    if not is_name(text):
        return "a name is 1 to 128 letters, digits and . _ / @ -, and begins with a letter or digit"
    return None
