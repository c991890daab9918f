"""What a format writes around a text, so that a turn which is nothing but a text need not be written and encoded.

Whether a format writes all texts alike is not assumed but tried out: if an item has anything else of its message in it,
such as its number, if a text becomes more than one item, or if something of it is reported, there is no template.
"""

from collections.abc import Iterable
from typing import NamedTuple

from reel.strict_json import Json, encode, encode_text
from reeld.formats.format import Format
from reeld.formats.model import AssistantTurn, Piece, RenderContext, Turn, UserTurn

# The keys of a block that is nothing but a text.
_TEXT_KEYS = len(("type", "text"))
# Texts by which a template is found, each with the number of its message.
_ONE, _OTHER = ("the text", 1), ('another "text"', 1000)


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
    before, _, after = _written(target, context, role, *_ONE).partition(encode_text(_ONE[0].encode()))
    template = Template(before, after)
    is_same = template.fill(_OTHER[0].encode()) == _written(target, context, role, *_OTHER)
    return template if is_same and not context.report else None


def _written(target: Format, context: RenderContext, role: str, text: str, number: int) -> bytes:
    """Return the item of a text; nothing if it becomes more than one item."""
    block = {"type": "text", "text": text}
    message: Json = {"role": role, "content": [block], "provider_metadata": {}, "seq": number, "time": number}
    pieces = [Piece(message, number, 0, block)]
    items = target.write_turn(UserTurn([], pieces) if role == "user" else AssistantTurn(pieces), context)
    return encode(items[0]).encode() if len(items) == 1 else b""


def only_text(turn: Turn) -> bytes | None:
    """Return the text of a turn that is nothing but the text of one message, in UTF-8; ``None`` if it is more."""
    if len(turn.pieces) != 1 or (type(turn) is UserTurn and turn.results):
        return None
    message, _, _, block = turn.pieces[0]
    if len(block) != _TEXT_KEYS or block["type"] != "text" or message.get("provider_metadata", True):
        return None
    text: str = block["text"]
    return text.encode() if len(message["content"]) == 1 else None
