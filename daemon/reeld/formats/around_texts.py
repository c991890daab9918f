"""The JSON that a format writes around a text which is all there is of an item: the same around every text.

Most turns are nothing but a text. What is around it is learned from the format's own writer, with two texts, and used
for all others: writing a turn takes three times as long. A format whose writer looks at texts has none.
"""

from collections.abc import Callable

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import encode, encode_text
from reeld.formats.format import Format
from reeld.formats.model import AssistantTurn, Piece, RenderContext, Turn, UserTurn

_ONE, _OTHER = "a text", 'another "text"'
# From so many messages on, learning takes less time than it saves.
_MANY = 40


class Around(NamedTuple):
    """The JSON before a text and after it."""

    before: str
    after: str

    def fill(self, text: str) -> str:
        """Return the JSON of an item with a text."""
        before, after = self
        return f"{before}{encode_text(text)}{after}"

    def sent(self, text: str) -> bytes:
        """Return an item with a text as it is sent, with a comma after it."""
        before, after = self
        return f"{before}{encode_text(text)}{after},".encode()


def around_text(write: Callable[[str], str | None]) -> Around | None:
    """Return what is around every text; ``None`` if that varies.

    Args:
        write: returns the JSON of the item with a text; ``None`` if it becomes anything else.
    """
    written, found = write(_ONE), encode(_ONE)
    if written is None or written.count(found) != 1:
        return None
    around = Around(*written.split(found))
    return around if around.fill(_OTHER) == write(_OTHER) else None


class AroundTurns(NamedTuple):
    """What is around the text of a settled turn of the user's, and of the assistant's."""

    asked: Around | None = None
    answered: Around | None = None


NOT_KNOWN = AroundTurns()


def around_turns(target: Format, given: RenderContext, messages: int) -> AroundTurns:
    """Return what is around the texts of settled turns that are nothing else, whatever is before them.

    Args:
        target: the format.
        given: the context in which they are written.
        messages: how many become turns; for a few, nothing is looked for.
    """
    if messages < _MANY:
        return NOT_KNOWN

    def write(text: str, *, is_user: bool, follows_results: bool = False) -> str | None:
        context = RenderContext(given.model, by_id=given.by_id, past_reasoning=given.past_reasoning)
        context.follows_results = follows_results
        items = target.write_turn(_turn(text, is_user=is_user), context)
        is_plain = len(items) == 1 and not context.report and not context.breakpoints and not context.has_summary
        return encode(items[0]) if is_plain else None

    asked = around_text(lambda text: write(text, is_user=True))
    answered, after_results = (
        around_text(lambda text: write(text, is_user=False, follows_results=follows))  # noqa: B023 - called at once
        for follows in (False, True)
    )
    return AroundTurns(asked, answered if answered == after_results else None)


def _turn(text: str, *, is_user: bool) -> Turn:
    block = {"type": "text", "text": text}
    role = "user" if is_user else "assistant"
    message = {"role": role, "content": [block], "provider_metadata": {}, "seq": 1, "time": 0}
    piece = Piece(message, 0, 0, block)
    return UserTurn([], [piece], text) if is_user else AssistantTurn([piece], text)
