"""Templates: the bytes that a format writes around the texts, calls and results of a turn.

Whether a format writes all turns of a shape alike is not assumed but tested, with two turns of different content: if an
item contains anything else of its message, such as its index, or if anything is reported, there is no template.

Many templates are filled with all of their texts by a single bytes formatting operation: see :func:`fill`.
"""

import re
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import NamedTuple

from reel.strict_json import Json, encode, encode_texts, parse
from reeld.formats.format import Format
from reeld.formats.model import AssistantTurn, CallResult, Piece, RenderContext, ToolCall, Turn, UserTurn

# The keys of a block that is nothing but a text.
_TEXT_KEYS = len(("type", "text"))
# The separator after each item of a template: a byte that never occurs in UTF-8.
_END = b"\xff"


class Shape(NamedTuple):
    """The common shape of turns that are written alike.

    Args:
        number: how many calls or results.
        is_user: whether the turn is the user's; it has either results or a text.
        has_text: whether the turn is a text, or a text is before the calls.
        follows_results: whether the turn before is nothing but results.
    """

    number: int
    is_user: bool
    has_text: bool = False
    follows_results: bool = False


# The shapes of texts alone.
USER_TEXT = Shape(0, is_user=True, has_text=True)
ASSISTANT_TEXT = Shape(0, is_user=False, has_text=True)
TEXT_AFTER_RESULTS = Shape(0, is_user=False, has_text=True, follows_results=True)


class Call(NamedTuple):
    """A call in the form that templates take.

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


class Template(NamedTuple):
    """The items of a turn, or of two consecutive turns, with placeholders.

    A turn has *texts*: its own, if it has one, and three for each call or result: id, name, and the arguments or what
    was returned. Some formats send the arguments of a call as an object.

    Args:
        around: the bytes around the texts, which are ``%b``. If there are objects, these are ``%b`` and texts are
            ``%%b``.
        items: how many items each turn becomes.
        texts: how many texts there are.
        places: the places of the texts that are sent among all texts, in their order.
        objects: the numbers of the calls whose arguments are sent as objects, in their order.
        choose: takes the texts that are sent out of all texts; ``None`` if all are sent as they are.
    """

    around: bytes
    items: tuple[int, ...]
    texts: int
    places: tuple[int, ...]
    objects: tuple[int, ...]
    choose: Callable[[Sequence[bytes]], Sequence[bytes]] | None

    def around_objects(self, calls: Sequence[Call]) -> bytes:
        """Return the bytes around the texts for these calls."""
        objects = [encode(calls[number].value).encode().replace(b"%", b"%%") for number in self.objects]
        return self.around % tuple(objects) if objects else self.around

    def then(self, other: "Template") -> "Template":
        """Return the template of two consecutive turns, of which the first has no objects."""
        before = self.around.replace(b"%", b"%%") if other.objects else self.around
        places = (*self.places, *(self.texts + place for place in other.places))
        items, texts = self.items + other.items, self.texts + other.texts
        return _template(before + other.around, items, texts, places, other.objects)


def _template(
    around: bytes, items: tuple[int, ...], texts: int, places: tuple[int, ...], objects: tuple[int, ...]
) -> Template:
    choose: Callable[[Sequence[bytes]], Sequence[bytes]] | None = None
    if places != tuple(range(texts)):
        choose = itemgetter(*places) if len(places) > 1 else lambda found: [found[place] for place in places]
    return Template(around, items, texts, places, objects, choose)


def fill(arounds: Sequence[bytes], texts: Sequence[bytes]) -> tuple[bytes, list[int]]:
    """Fill the templates of consecutive turns.

    Args:
        arounds: the bytes around the texts of each turn.
        texts: the texts of all turns, in UTF-8.

    Returns:
        the items, with a comma after each, and the size of each.
    """
    filled = b"".join(arounds) % tuple(encode_texts(texts))
    sizes = [len(item) + len(_END) for item in filled.split(_END)]
    # Nothing follows the last item.
    sizes.pop()
    return filled.replace(_END, b","), sizes


def find_template(target: Format, context: RenderContext, shape: Shape) -> Template | None:
    """Return the format's template for turns of a shape; ``None`` if it does not write them all alike.

    Args:
        target: the format.
        context: what writing a settled turn depends on.
        shape: the shape.
    """
    context.follows_results = shape.follows_results
    first, second = (_Sample(target, context, shape, number) for number in (1, 1000))
    template = first.template()
    filled, _ = fill([template.around_objects(second.calls)], [second.texts[place] for place in template.places])
    is_same = filled == second.items.replace(_END, b",") and not context.report
    # Plain texts are filled in unchanged.
    is_simple = (template.items, template.places) == ((1,), (0,)) if shape.number == 0 else template.items != (0,)
    return template if is_same and is_simple else None


class _Sample:
    """A turn of some shape, as a format writes it."""

    def __init__(self, target: Format, context: RenderContext, shape: Shape, number: int) -> None:
        self.calls = [_call(number, index) for index in range(shape.number)]
        turn, self.texts = _turn(shape, self.calls, number)
        self.items = b"".join([encode(item).encode() + _END for item in target.write_turn(turn, context)])

    def template(self) -> Template:
        """Return the template that this turn would have."""
        texts = encode_texts(self.texts)
        objects = [encode(call.value).encode() for call in self.calls]
        values = re.compile(b"|".join(map(re.escape, [*texts, *objects])))
        found = values.findall(self.items)
        numbers = [objects.index(value) for value in found if value in objects]
        # Percent signs are doubled for each formatting.
        sign = b"%%" if numbers else b"%"
        around = values.sub(
            lambda hit: b"%b" if hit[0] in objects else sign + b"b", self.items.replace(b"%", sign + sign)
        )
        places = tuple(texts.index(value) for value in found if value in texts)
        return _template(around, (self.items.count(_END),), len(texts), places, tuple(numbers))


def _call(number: int, index: int) -> Call:
    arguments = b'{"at": "%d %d"}' % (number, index)
    return Call(b"id-%d-%d" % (number, index), b"name_%d_%d" % (number, index), arguments, parse(arguments.decode()))


def _turn(shape: Shape, calls: list[Call], number: int) -> tuple[Turn, list[bytes]]:
    """Return a turn of some shape, and its texts."""
    texts = [f'"said" {number}'] if shape.has_text else []
    blocks: list[Json] = [{"type": "text", "text": text} for text in texts]
    if not shape.is_user:
        blocks += [
            {
                "type": "tool_call",
                "id": call.id.decode(),
                "name": call.name.decode(),
                "arguments": call.arguments.decode(),
            }
            for call in calls
        ]
        return AssistantTurn(_pieces("assistant", number, blocks)), [
            *_encoded(texts),
            *(text for call in calls for text in call[:3]),
        ]
    if not shape.number:
        return UserTurn([], _pieces("user", number, blocks)), _encoded(texts)
    texts = [f'"returned" {number} {index}' for index in range(shape.number)]
    blocks = [
        {"type": "tool_result", "tool_call_id": call.id.decode(), "content": returned, "is_error": False}
        for call, returned in zip(calls, texts, strict=True)
    ]
    pieces = _pieces("tool", number, blocks)
    results = [_result(*found, number) for found in zip(calls, texts, pieces, strict=True)]
    return UserTurn(results, []), result_texts(calls, _encoded(texts))


def _pieces(role: str, number: int, blocks: list[Json]) -> list[Piece]:
    """Return the pieces of a message that has only blocks."""
    message: Json = {"role": role, "content": blocks, "provider_metadata": {}, "seq": number, "time": number}
    return [Piece(message, number, index, block) for index, block in enumerate(blocks)]


def _result(call: Call, text: str, piece: Piece, number: int) -> CallResult:
    call_id, name = call.id.decode(), call.name.decode()
    return CallResult(ToolCall(call_id, name, call_id, name, number, {}), text, failed=False, piece=piece)


def _encoded(texts: Sequence[str]) -> list[bytes]:
    return [text.encode() for text in texts]


def result_texts(calls: Sequence[Call], texts: Sequence[bytes]) -> list[bytes]:
    """Return the texts of a turn with the results of calls, for its template."""
    if len(calls) == 1:
        return [calls[0][0], calls[0][1], texts[0]]
    return [text for call, returned in zip(calls, texts, strict=True) for text in (call[0], call[1], returned)]


def only_text(turn: Turn) -> bytes | None:
    """Return the text of a turn that is just one plain text, in UTF-8; ``None`` for any other."""
    if len(turn.pieces) != 1 or (type(turn) is UserTurn and turn.results):
        return None
    message, _, _, block = turn.pieces[0]
    if len(block) != _TEXT_KEYS or block["type"] != "text" or message.get("provider_metadata", True):
        return None
    text: str = block["text"]
    return text.encode() if len(message["content"]) == 1 else None
