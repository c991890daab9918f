"""A page of a conversation as lines, for clients that read and do not follow."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from reel.reading.layout import Layout, Section, prompt_section, waiting_section
from reel.wire.short_messages import unpacked
from reeld.serving.long_work import LongWork
from reeld.serving.pages import View, Window, page_head, read_page
from reeld.store.store import Store

# The messages of a page, and their bytes, if the client names no limits: a thread lays them out in some milliseconds.
_ITEMS, _BYTES = 500, 1 << 18


async def read_lines(
    store: Store, shown: View, window: Window, long_work: LongWork, waits: Callable[[], Awaitable[str]] | None
) -> dict[str, Any]:
    """Return the reply of the method ``messages``, with lines in place of messages.

    The system prompt is on the page on which the conversation begins, and what it waits for on that on which it ends.

    Args:
        store: the log.
        shown: the conversation.
        window: where the page begins, and its size.
        long_work: runs what takes milliseconds.
        waits: returns the words for what it waits for; ``None`` if it is an earlier state, which waits for nothing.
    """
    limits = {"limit": window.limit or _ITEMS, "max_bytes": window.max_bytes or _BYTES}
    page = await read_page(store, shown, window._replace(view="messages", **limits), long_work.in_turn)
    begins = not window.since and window.last is None
    prompt = [prompt_section(shown.system)] if begins and shown.system is not None else []
    words = await waits() if waits is not None and not page["more"] else ""
    end = [waiting_section(words)] if words else []
    section = await long_work.in_thread(partial(_laid_out, prompt, page["messages"].items, end))
    return {**page_head(shown), **section._asdict(), "more": page["more"]}


def _laid_out(prompt: list[Section], messages: Iterable[bytes], end: list[Section]) -> Section:
    """Return sections and messages as one section; it may run in a thread."""
    layout, page = Layout(), Section([], [], [], [])
    for section in [*prompt, *(layout.message(unpacked(message)) for message in messages), *end]:
        page.extend(section, len(page.lines))
    return page
