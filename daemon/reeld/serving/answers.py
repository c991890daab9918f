"""The last answer of a conversation, and the last code block of one: what an editor copies."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.reading.fences import code_blocks
from reel.wire.short_messages import unpacked
from reeld.core.events import Entry
from reeld.serving.long_work import LongWork
from reeld.serving.pages import View, Window, read_entries
from reeld.store.store import Store

# How many of the newest messages of the assistant are looked at, at first and at each further look.
_FEW, _MORE = 5, 20


class Found(NamedTuple):
    """A text of an answer, the seq of the answer, and the language of the text if it is code; or nothing."""

    seq: int | None = None
    text: str | None = None
    language: str | None = None


async def last_answer(store: Store, shown: View, long_work: LongWork, *, code: bool) -> Found:
    """Return the text of the last answer, or the last code block of an answer."""
    look, count = _code if code else _text, _FEW
    while True:
        find = partial(_last, look)
        found, seen = await read_entries(store, shown, Window(last=count), _is_answer, find, long_work.in_thread)
        if found.seq is not None or seen < count:
            return found
        count *= _MORE


def _last(look: Callable[[int, list[str]], Found], entries: Iterable[Entry]) -> tuple[Found, int]:
    """Return what is found in the newest answer that has it, and how many were there; it may run in a thread."""
    answers = [entry for entry in entries if _is_answer(entry)]
    found = (look(entry.seq, _texts(entry)) for entry in reversed(answers))
    return next((each for each in found if each.seq is not None), Found()), len(answers)


def _is_answer(entry: Entry) -> bool:
    return entry.kind == "assistant" and entry.message is not None


def _texts(entry: Entry) -> list[str]:
    content: list[Any] = unpacked(entry.message or b"")["content"]
    return [block["text"] for block in content if block["type"] == "text"]


def _text(seq: int, texts: list[str]) -> Found:
    """Return the texts of an answer; a message with nothing but calls is not an answer."""
    return Found(seq, "\n\n".join(texts)) if any(texts) else Found()


def _code(seq: int, texts: list[str]) -> Found:
    blocks = [block for text in texts for block in code_blocks(text)]
    return Found(seq, *blocks[-1]) if blocks else Found()
