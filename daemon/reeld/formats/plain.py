"""The short way through rendering, for texts: most messages of a long chat are nothing else.

Theory of operation
-------------------

To unpack, repair and write a message takes 70 calls of functions. Two of these steps can be left out.

*Writing.* A :class:`Template` is what a format writes around a text. Whether a format writes all texts alike is not
assumed but tried out: if an item has anything else of its message in it, such as its number, if a text becomes more
than one item, or if something of it is reported, there is no template.

*Repair.* A plain exchange, a text of the user's and a text of the assistant's, needs none if it follows another one: no
call waits for a result, both texts are there, and the message after them settles them. It leaves nothing to the
exchanges after it either. So only its texts are read, and put into the templates.

A property test compares what both ways return.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from reel.strict_json import Json, encode, encode_text
from reeld.core.events import Entry, plain_text
from reeld.formats.format import Format
from reeld.formats.model import AssistantTurn, Piece, RenderContext, Turn, UserTurn

# The keys of a block that is nothing but a text.
_TEXT_KEYS = len(("type", "text"))
# Texts by which a template is found, each with the number of its message.
_FIRST, _SECOND = ("the text", 1), ('another "text"', 1000)
# How many entries are looked at together: what is kept of them is freed before there is much of it.
_WINDOW = 1000
# User and assistant in turn: after an exchange of the same kind, so that nothing of what was before reaches into it,
# and before another text of the user's, which settles it.
_RUN = re.compile("(?<=ua)(?:ua)+(?=u)")
# What is anything else.
_OTHER = "-"


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


class PlainRun(NamedTuple):
    """Plain exchanges in a row: the number of the first entry, and the texts of user and assistant in turn."""

    start: int
    texts: list[bytes]


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
            _OTHER if text is None or _is_blank(text) else entry.kind[0]
            for entry, text in zip(window, texts, strict=True)
        ])  # fmt: skip
        for found in _RUN.finditer(shape):
            yield PlainRun(begin + found.start(), [text or b"" for text in texts[found.start() : found.end()]])


def _is_blank(text: bytes) -> bool:
    # Most texts begin with a letter, and need not be decoded.
    return not text[:1].isalnum() and not text.decode().strip()
