"""The page of a conversation: its head, and its pieces, which are loaded one by one."""

import time
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.exporting.articles import Articles
from reel.exporting.page import prompt, title
from reel.exporting.rich_text import rich_text
from reel.exporting.story import Heading, Part, Said
from reel.replies import AgentInfo
from reel.viewing.frame import link, tabs
from reel.wire.pushes import DraftPush

# A longer text is cut. A tool may return megabytes, and a page has many messages.
_LONGEST = 100_000
# A longer draft is shown as plain text, because it is laid out again with every word.
_LONGEST_DRAFT = 20_000


def shortened(part: Part) -> Part:
    """Return a part with very long texts cut, which would slow down the browser."""
    if not isinstance(part, Said):
        return part
    content: list[Any] = [_shortened(block, part.seq) for block in part.message["content"]]
    return part._replace(message={**part.message, "content": content})


def _shortened(block: Any, seq: int) -> Any:
    if isinstance(block.get("content"), list):
        block = {**block, "content": [_shortened(inner, seq) for inner in block["content"]]}
    for field in ("text", "arguments", "content"):
        text = block.get(field)
        if isinstance(text, str) and len(text) > _LONGEST:
            more = f"\n… {len(text) - _LONGEST:,} more characters: reel show prints #{seq} whole"
            block = {**block, field: text[:_LONGEST] + more}
    return block


def new_articles() -> Articles:
    """Return what writes the articles of a conversation, with times in the local time zone."""
    return Articles(lambda milliseconds: time.strftime("%Y-%m-%d %H:%M", time.localtime(milliseconds / 1000)))


class Piece(NamedTuple):
    """A stretch of a conversation.

    Args:
        first: the seq at which it begins.
        last: the seq at which it ends.
        before: the parts just before it, which are not shown.
        parts: its messages and events.
    """

    first: int
    last: int
    before: list[Part]
    parts: list[Part]

    def html(self, head: int) -> Iterator[str]:
        """Yield it as HTML, in a separate element, which the browser skips while it is far from the screen.

        Args:
            head: the seq at which the conversation ends.
        """
        articles = new_articles()
        articles.learn(self.before)
        yield f'<div class="piece" data-first="{self.first}" data-last="{self.last}" data-head="{head}">\n'
        yield from articles.parts(map(shortened, self.parts))
        yield "</div>\n"


def head(path: str, agent: AgentInfo, at: int | None, system: str | None) -> Iterator[str]:
    """Yield the head of a view of a conversation.

    Args:
        path: the view.
        agent: the agent.
        at: the displayed position, if it is not the newest.
        system: the system prompt there.
    """
    heading = Heading(agent.name, agent.title, agent.tags, system, agent.head if at is None else at)
    facts = [] if agent.title is None else [agent.name]
    facts += ["killed"] * (not agent.alive)
    yield '<header id="head">\n<p class="back"><a href="/">← Conversations</a></p>\n'
    yield title(heading, facts)
    if at is not None:
        now = link("as it is now", path, agent=agent.id)
        differs = link("what differs", "/differences", one=f"{agent.name}@{at}", other=agent.name, agent=agent.id)
        yield f'<p class="moment">The conversation as it was at #{at}. See it {now}, or {differs} from now.</p>\n'
    yield prompt(heading)
    yield "</header>\n"
    yield tabs(path, agent, at)


def body(piece: Piece, head_seq: int, waits: str = "") -> Iterator[str]:
    """Yield the conversation, with elements at both ends that load more.

    Args:
        piece: the initial stretch.
        head_seq: the seq at which the conversation ends.
        waits: what it waits for, if it waits for a person.
    """
    yield f'<main id="main" tabindex="-1" data-first="{piece.first}" data-last="{piece.last}" data-head="{head_seq}">\n'
    yield f'<p id="older" class="note"{"" if piece.first > 1 else " hidden"}>Loading what was said before …</p>\n'
    yield '<div id="parts">\n'
    yield from piece.html(head_seq)
    yield "</div>\n"
    yield f'<p id="newer" class="note"{"" if piece.last < head_seq else " hidden"}>Loading what was said then …</p>\n'
    yield f'<p id="waits" class="note" role="status"{"" if waits else " hidden"}>{escape(waits)}</p>\n'
    yield '<div id="drafts" aria-live="off"></div>\n'
    yield '<button id="to-end" hidden>New messages ↓</button>\n</main>\n'


def draft(push: DraftPush) -> str:
    """Return a draft as HTML; empty if it no longer exists."""
    if not push.text:
        return ""
    if len(push.text) <= _LONGEST_DRAFT:
        text = rich_text(push.text)
    else:
        text = f'<div class="plain">{escape(push.text)}</div>\n'
    return (
        f'<article class="assistant draft">\n<p class="who">{escape(push.client or "Somebody")} is writing</p>\n'
        f'<div class="says">\n{text}</div>\n</article>\n'
    )


def pieces_of(parts: Iterable[Part], articles: Articles) -> str:
    """Return new parts of a conversation as HTML, laid out after the earlier ones."""
    return "".join(articles.parts(map(shortened, parts)))
