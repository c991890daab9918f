"""Plain exchanges: a text of the user's and a text of the assistant's, as most exchanges of a long chat are.

Theory of operation
-------------------

To unpack, repair and write a message takes 70 calls of functions. A plain exchange that follows another one needs none
of them. Repair has nothing to do: no call waits for a result, both texts are there, and the message after them settles
them. It leaves nothing to the exchanges after it either. So only its texts are read, and put into the templates of the
format (:mod:`~reeld.formats.templates`).

That both ways return the same is what a property test compares.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reeld.core.events import Entry, plain_text

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
