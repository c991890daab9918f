"""The tool ``search``: finds what was said."""

from __future__ import annotations

from collections.abc import Iterator

from reel.base.errors import InvalidParams
from reel.base.light_typing import NamedTuple
from reel.mcp.answers.answer import Answer, beginning, size
from reel.mcp.tools.arguments import Arguments, ToolError, no_cursor, shown
from reel.mcp.tools.desk import Desk
from reel.reading.hits import grouped
from reel.reading.unindexed import unindexed
from reel.reading.wording import flat, safe, utc_minute
from reel.replies import Hit, HitsPage

_HITS = 12
_MOST_HITS = 100
# Milliseconds that the index has for what was said a moment ago; it usually needs fewer.
_WAIT = 300
# The bytes of what is shown of a snippet, and of a title.
_SNIPPET = 500
_TITLE = 120
# The bytes of the words of a query that an answer repeats.
_QUERY = 200
# The characters that are shown, and those of the snippet around them: a secret may begin with what tells that it is
# one, such as its name.
_SHOWN = 240
_AROUND = 480
# The most characters of a cursor.
_CURSOR = 40
_HOW = "Read what is around one: read(conversation='NAME', seq=N{})."
_THINKING = ", thinking=true"


class _Asked(NamedTuple):
    """What is searched for, where, and whether what models thought is shown."""

    query: str
    everywhere: bool
    thinking: bool

    def following(self, cursor: str) -> str:
        """Return the line with the call for the next page."""
        scope = ", everywhere=true" if self.everywhere else ""
        thinking = _THINKING if self.thinking else ""
        return f"More: search(query={beginning(shown(self.query), _QUERY)}{scope}{thinking}, cursor={cursor!r})."


async def search(desk: Desk, given: Arguments) -> Answer:
    """Answer with what was found, the best hits first."""
    asked = _Asked(given.text("query"), given.flag("everywhere"), given.flag("thinking"))
    if not asked.query:
        raise ToolError("query of search is empty: give words that were said, or call conversations for a list")
    cursor, limit = given.text("cursor") or None, given.number("limit", 1, _MOST_HITS) or _HITS
    page = await _find(desk, asked, cursor, limit)
    late = unindexed(page.behind, await desk.client.stats()) if page.behind else ""
    where, words = desk.where(everywhere=asked.everywhere), beginning(shown(asked.query), _QUERY)
    if not page.hits:
        return Answer(
            (
                f"Nothing {'more ' if cursor else ''}was found {where} for {words}.",
                *limits(page._replace(instead=None, partial=None), late),
                _what_else(desk, everywhere=asked.everywhere),
            )
        )
    before = (f"Hits {where} for {words}, the best first.", *limits(page, late))
    room = Answer(before, after=(_how(asked, page.hits), asked.following("0" * _CURSOR))).room(given.budget)
    hits = _fitting(desk, page.hits, room)
    if len(hits) < len(page.hits):  # the cursor is that of a page of this length
        page = await _find(desk, asked, cursor, len(hits))
    lines = [line for group in grouped(hits) for line in _group(desk, group)]
    more = [asked.following(page.next)] if page.more and page.next else []
    return Answer(before, "\n".join(lines), (_how(asked, hits), *more))


def limits(page: HitsPage, late: str) -> Iterator[str]:
    """Yield how hits differ from what was asked for.

    Args:
        page: the hits.
        late: what the index does not have yet.
    """
    for word, others in (page.instead or {}).items():
        yield f"Nothing has {shown(beginning(word, _TITLE))}: hits for {' and '.join(map(shown, others))}."
    if page.partial:
        yield "Very many messages have these words, and only the newest were ranked: add a rarer word for older ones."
    if late:
        yield f"{late.capitalize()}; search again later."


async def _find(desk: Desk, asked: _Asked, cursor: str | None, limit: int) -> HitsPage:
    try:
        page = await desk.client.search(
            asked.query,
            order="fresh",
            limit=limit,
            after=cursor,
            dirs=desk.scope(everywhere=asked.everywhere),
            wait=_WAIT,
            snippet=_AROUND,
            without_tag=desk.hidden,
            thinking=asked.thinking,
        )
    except InvalidParams as error:
        if error.data.get("field") == "after":
            raise ToolError(no_cursor("search", cursor or "", "the best hits")) from None
        raise ToolError(f"search was refused: {error.message}; call it with another query") from None
    return page._replace(hits=[hit._replace(name=desk.called(hit.name, hit.agent)) for hit in page.hits])


def _how(asked: _Asked, hits: list[Hit]) -> str:
    """Return how hits are read: without thinking, what was found only there would not be shown."""
    if asked.thinking:
        return _HOW.format(_THINKING)
    return _HOW.format("") + (f" In the thinking: add{_THINKING[1:]}." if any(hit.thinking for hit in hits) else "")


def _what_else(desk: Desk, *, everywhere: bool) -> str:
    if desk.project and not everywhere:
        return "Search with everywhere: true for all projects, or with fewer or other words (one OR other, begin*)."
    return "Search with fewer or other words (one OR other, begin*), or call conversations."


def _fitting(desk: Desk, hits: list[Hit], room: int) -> list[Hit]:
    """Return the first hits, as many as have room and at least one."""
    for number, hit in enumerate(hits):
        room -= sum(size(line) + 1 for line in _group(desk, [hit]))
        if room < 0 and number:
            return hits[:number]
    return hits


def _group(desk: Desk, hits: list[Hit]) -> list[str]:
    """Return the lines of hits in one conversation."""
    title = f": {beginning(flat(safe(desk.mask(hits[0].title))), _TITLE)}" if hits[0].title else ""
    return [f"{hits[0].name}{title}", *(line for hit in hits for line in _hit(desk, hit))]


def _hit(desk: Desk, hit: Hit) -> list[str]:
    what = hit.role or ("note" if hit.kind == "note" else "its name or title")
    state = "" if hit.live else ", no longer in the conversation"
    if hit.without:
        state += f", without {beginning(' '.join(hit.without), _QUERY)}"
    if hit.thinking:
        state += ", in its thinking"
    snippet = beginning(flat(safe(flat(_middle(desk, hit)))), _SNIPPET)
    heading = f"  #{hit.seq} {what}, {utc_minute(hit.sent or hit.time)}{state}"
    return [heading, f"    {snippet}"] if snippet else [heading]


def _middle(desk: Desk, hit: Hit) -> str:
    """Return what is around the first match of a snippet, without secrets.

    At its ends a snippet may have a piece of a key, or a secret without its name, and nobody can tell. So these are
    looked at, but not shown.
    """
    first, end = hit.matches[0] if hit.matches else (0, 0)
    text = hit.snippet if len(hit.snippet) < _AROUND else hit.snippet[: max(end, _last_space(hit.snippet))]
    # The daemon has a quarter of a snippet before the first match: half of that is shown.
    begin, at = (len(desk.mask(text[:place])) for place in (max(first - _AROUND // 8, 0), first))
    masked = desk.mask(text)
    before = masked[begin:at]
    if begin:
        before = " ".join(before.split(None, 1)[1:])
    return before + masked[at : at + _SHOWN - len(before)]


def _last_space(text: str) -> int:
    """Return where the last word of a text begins that has others, with the space before it."""
    return len(text.rsplit(None, 1)[0]) if len(text.split(None, 1)) > 1 else 0
