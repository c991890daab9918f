"""Plain exchanges: a text of the user's and a text of the assistant's, as most exchanges of a long chat are.

Theory of operation
-------------------

To unpack, repair and write a message takes 70 calls of functions. A plain exchange that follows another one needs none
of them. Repair has nothing to do: no call waits for a result, both texts are there, and the message after them settles
them. And a format writes them as it writes every other text. So each turn is written once with another text in it,
which shows what is around a text (:class:`Template`), and the texts themselves are put there.

Whether a format writes all texts alike is not assumed but tried out (:func:`find_templates`): if an item has anything
else of its message in it, such as its number, the exchanges go the general way.

That both ways return the same is what a property test compares.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reel.strict_json import Json, encode, encode_text
from reeld.core.events import Entry, plain_text
from reeld.formats.format import Format
from reeld.formats.model import AssistantTurn, Piece, RenderContext, UserTurn

# So many entries are looked at together: what is kept of them is freed before there is much of it.
_WINDOW = 1000
# User and assistant in turn: after an exchange of the same kind, so that nothing of what was before reaches into it,
# and before another text of the user's, which settles it.
_RUN = re.compile("(?<=ua)(?:ua)+(?=u)")
_OTHER = "-"


class PlainRun(NamedTuple):
    """Plain exchanges in a row: the number of the first entry, and the texts of user and assistant in turn."""

    start: int
    texts: list[bytes]


class Template(NamedTuple):
    """The item that a text becomes: what is before it, and what is after it."""

    before: bytes
    after: bytes

    def fill(self, text: bytes) -> bytes:
        """Return the item of a text in UTF-8."""
        return b"".join((self.before, encode_text(text), self.after))


class Templates(NamedTuple):
    """The items of the user's and the assistant's texts."""

    user: Template
    assistant: Template


def plain_runs(entries: Sequence[Entry], start: int) -> Iterator[PlainRun]:
    """Find the plain exchanges that follow a plain exchange, and are settled.

    Args:
        entries: the entries of a conversation.
        start: the number of the first one that is looked at.
    """
    for begin in range(start, len(entries), _WINDOW):
        window = entries[begin : begin + _WINDOW]
        texts = [plain_text(entry) for entry in window]
        shape = "".join([
            _OTHER if text is None or not text.decode().strip() else entry.kind[0]
            for entry, text in zip(window, texts, strict=True)
        ])  # fmt: skip
        for found in _RUN.finditer(shape):
            yield PlainRun(begin + found.start(), [text or b"" for text in texts[found.start() : found.end()]])


def find_templates(target: Format, context: RenderContext) -> Templates | None:
    """Return how a format writes texts; ``None`` if it does not write all of them alike.

    Args:
        target: the format.
        context: what writing a settled turn depends on.
    """
    user = _find_template(target, context, "user")
    assistant = _find_template(target, context, "assistant")
    return None if user is None or assistant is None else Templates(user, assistant)


def _find_template(target: Format, context: RenderContext, role: str) -> Template | None:
    """Find what is around a text: it must be the same around another text of another message."""
    one, other = ("the text", 1), ('another "text"', 1000)
    before, _, after = _written(target, context, role, *one).partition(encode_text(one[0].encode()))
    template = Template(before, after)
    return template if template.fill(other[0].encode()) == _written(target, context, role, *other) else None


def _written(target: Format, context: RenderContext, role: str, text: str, number: int) -> bytes:
    """Return the item of a text; nothing if it becomes more than one item."""
    block = {"type": "text", "text": text}
    message: Json = {"role": role, "content": [block], "provider_metadata": {}, "seq": number, "time": number}
    pieces = [Piece(message, number, 0, block)]
    items = target.write_turn(UserTurn([], pieces) if role == "user" else AssistantTurn(pieces), context)
    return encode(items[0]).encode() if len(items) == 1 else b""
