"""Templates: what a format writes around the texts, calls and results of a turn.

Whether a format writes all turns of a shape alike is not assumed but tried out, with two turns that say other things:
if an item has anything else of its message in it, such as its number, or if something of it is reported, there is no
template.
"""

import re
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from reel.strict_json import Json, encode, encode_text, parse
from reeld.formats.format import Format
from reeld.formats.model import AssistantTurn, CallResult, Piece, RenderContext, ToolCall, Turn, UserTurn

# The keys of a block that is nothing but a text.
_TEXT_KEYS = len(("type", "text"))
# Texts by which a template is found, each with the number of its message.
_FIRST, _SECOND = ("the text", 1), ('another "text"', 1000)


class Template(NamedTuple):
    """The item that a text becomes: what is before the text, and what is after it."""

    before: bytes
    after: bytes

    def fill(self, text: bytes) -> bytes:
        """Return the item of a text, both in UTF-8."""
        return b"".join((self.before, encode_text(text), self.after))

    def fill_all(self, texts: Iterable[bytes]) -> list[bytes]:
        """Return the items of texts."""
        before, after = self
        return [b"".join((before, encode_text(text), after)) for text in texts]


class Templates(NamedTuple):
    """The items of texts; ``None`` for those that a format does not write all alike.

    Args:
        user: of a text of the user's.
        assistant: of a text of the assistant's.
        after_results: of a text of the assistant's after a turn that is nothing but results.
    """

    user: Template | None
    assistant: Template | None
    after_results: Template | None


NO_TEMPLATES = Templates(None, None, None)


def find_templates(target: Format, context: RenderContext) -> Templates:
    """Return how a format writes texts.

    Args:
        target: the format.
        context: what writing a settled turn depends on.
    """
    user, assistant = (_find_template(target, context, role) for role in ("user", "assistant"))
    context.follows_results = True
    return Templates(user, assistant, _find_template(target, context, "assistant"))


def _find_template(target: Format, context: RenderContext, role: str) -> Template | None:
    """Find what is around a text: it must be the same around another text of another message."""
    before, _, after = _written(target, context, role, *_FIRST).partition(encode_text(_FIRST[0].encode()))
    template = Template(before, after)
    is_same = template.fill(_SECOND[0].encode()) == _written(target, context, role, *_SECOND)
    return template if is_same and not context.report else None


def _written(target: Format, context: RenderContext, role: str, text: str, number: int) -> bytes:
    """Return the item of a text; nothing if it becomes more than one item."""
    pieces = _pieces(role, number, [{"type": "text", "text": text}])
    items = target.write_turn(UserTurn([], pieces) if role == "user" else AssistantTurn(pieces), context)
    return encode(items[0]).encode() if len(items) == 1 else b""


def _pieces(role: str, number: int, blocks: list[Json]) -> list[Piece]:
    """Return the pieces of a message that has nothing but blocks."""
    message: Json = {"role": role, "content": blocks, "provider_metadata": {}, "seq": number, "time": number}
    return [Piece(message, number, index, block) for index, block in enumerate(blocks)]


def only_text(turn: Turn) -> bytes | None:
    """Return the text of a turn that is nothing but the text of one message, in UTF-8; ``None`` if it is more."""
    if len(turn.pieces) != 1 or (type(turn) is UserTurn and turn.results):
        return None
    message, _, _, block = turn.pieces[0]
    if len(block) != _TEXT_KEYS or block["type"] != "text" or message.get("provider_metadata", True):
        return None
    text: str = block["text"]
    return text.encode() if len(message["content"]) == 1 else None


class Shape(NamedTuple):
    """What turns with calls or results have in common that are written alike.

    Args:
        number: how many calls or results.
        is_user: whether the turn is the user's, and has results.
        has_text: whether a text is before the calls.
        follows_results: whether the turn before is nothing but results.
    """

    number: int
    is_user: bool
    has_text: bool = False
    follows_results: bool = False


class Call(NamedTuple):
    """A call, as a template takes it.

    Args:
        id: its id.
        name: the name of its tool.
        arguments: its arguments as text.
        value: its arguments as an object.
    """

    id: bytes
    name: bytes
    arguments: bytes
    value: Json


class TurnTemplate(NamedTuple):
    """The items that a turn becomes.

    Args:
        items: for each item what is around its values, and a function that takes these out of the turn's values.
        has_objects: whether arguments are sent as objects.
    """

    items: list[tuple[bytes, Any]]
    has_objects: bool

    def fill(self, values: Sequence[bytes]) -> list[bytes]:
        """Return the items of a turn, in UTF-8, for its values as JSON."""
        return [around % choose(values) for around, choose in self.items]


def find_turn_template(target: Format, context: RenderContext, shape: Shape) -> TurnTemplate | None:
    """Return how a format writes turns of a shape; ``None`` if it does not write them all alike.

    Args:
        target: the format.
        context: what writing a settled turn depends on.
        shape: the shape.
    """
    context.follows_results = shape.follows_results
    (items, values), (others, other_values) = (_sample(target, context, shape, number) for number in (1, 1000))
    places = {value: place for place, value in enumerate(values)}
    found = re.compile(b"|".join(re.escape(value) for value in values))
    parts = [(found.sub(b"%b", item.replace(b"%", b"%%")), found.findall(item)) for item in items]
    has_objects = any(value.startswith(b"{") for _, had in parts for value in had)
    template = TurnTemplate(
        [(around, _chooser([places[value] for value in had])) for around, had in parts], has_objects
    )
    is_same = bool(items) and not context.report and template.fill(other_values) == others
    return template if is_same else None


def _chooser(places: Sequence[int]) -> Any:
    """Return a function that takes values at some places out of all of them."""
    return itemgetter(*places) if places else lambda _values: ()


def _sample(target: Format, context: RenderContext, shape: Shape, number: int) -> tuple[list[bytes], list[bytes]]:
    """Return the items of a turn of some shape, and its values."""
    made = [
        Call(b"id-%d-%d" % (number, index), b"name_%d_%d" % (number, index), b'{"at": "%d %d"}' % (number, index), {})
        for index in range(shape.number)
    ]
    calls = [call._replace(value=parse(call.arguments.decode())) for call in made]
    text = f'"said" {number}'
    if not shape.is_user:
        blocks: list[Json] = [{"type": "text", "text": text}] if shape.has_text else []
        blocks += [
            {"type": "tool_call", "id": call_id.decode(), "name": name.decode(), "arguments": arguments.decode()}
            for call_id, name, arguments, _ in calls
        ]
        turn: Turn = AssistantTurn(_pieces("assistant", number + 1, blocks))
        values = [encode_text(text.encode())] if shape.has_text else []
        values += [value for call in calls for value in call_values(*call)]
    else:
        texts = [f'"returned" {number} {index}' for index in range(shape.number)]
        blocks = [
            {"type": "tool_result", "tool_call_id": call.id.decode(), "content": returned, "is_error": False}
            for call, returned in zip(calls, texts, strict=True)
        ]
        pieces = _pieces("tool", number + 1, blocks)
        turn = UserTurn([_result(*found, number) for found in zip(calls, texts, pieces, strict=True)], [])
        values = result_values(calls, [returned.encode() for returned in texts])
    return [encode(item).encode() for item in target.write_turn(turn, context)], values


def _result(call: Call, text: str, piece: Piece, number: int) -> CallResult:
    call_id, name = call.id.decode(), call.name.decode()
    return CallResult(ToolCall(call_id, name, call_id, name, number, {}), text, failed=False, piece=piece)


def call_values(call_id: bytes, name: bytes, arguments: bytes, value: Json | None) -> tuple[bytes, ...]:
    """Return the values of a call, for a template; ``value`` is left out if the template has no objects.

    A name has nothing that has to be escaped. An id may: one format sends every id as it is.
    """
    encoded = b"" if value is None else encode(value).encode()
    return encode_text(call_id), b'"%b"' % name, encode_text(arguments), encoded


def result_values(calls: Iterable[Call], texts: Iterable[bytes]) -> list[bytes]:
    """Return the values of a turn with the results of calls, for its template."""
    return [
        value
        for call, text in zip(calls, texts, strict=True)
        for value in (encode_text(call.id), b'"%b"' % call.name, encode_text(text))
    ]
