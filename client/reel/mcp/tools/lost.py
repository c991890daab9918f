"""The tool ``lost``: what a compaction, a clear or a rewind took out of a conversation, from the seam backwards.

A *seam* is an event after which the conversation is not just the earlier one with more messages. What it took out are
the messages of the state before it that are in neither the state after it nor the present one. States of a log are
paths in a tree: once a message is in both, so is everything before it, and the walk ends.
"""

from __future__ import annotations

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import encode
from reel.mcp.answers.answer import Answer
from reel.mcp.answers.cursors import Cursor
from reel.mcp.answers.page import Page
from reel.mcp.answers.rendering import Look, render
from reel.mcp.tools.arguments import Arguments, ToolError
from reel.mcp.tools.desk import Desk
from reel.mcp.tools.logs import Backwards, Forwards, learn_calls
from reel.mcp.tools.own_session import own_session
from reel.reading.layout import Layout
from reel.reading.wording import utc_minute
from reel.replies import AgentInfo
from reel.said.kinds import REPLACING
from reel.said.messages import Event, Message

# How many seams are looked at for one that took something out.
_SEAMS = 50
# How many messages after a seam are looked at for copies of what was kept.
_COPIES = 200
# The bytes of our lines, without the names of the conversation in them.
_LINES = 400
_WORDS = {"clear": "a clear", "rewind": "a rewind or a compaction", "restore": "a return to an earlier state"}


class _Seam(NamedTuple):
    """A seam, and the state before it."""

    event: Event
    before: int

    @property
    def seq(self) -> int:
        """The seq of the seam."""
        return self.event["seq"]


async def lost(desk: Desk, given: Arguments) -> Answer:
    """Answer with what the last seam took out, or go on where a cursor says."""
    budget, cursor, name = given.budget, given.cursor, given.text("conversation")
    if cursor is not None and (cursor.direction != "before" or cursor.at is None):
        raise ToolError("that cursor is one of read; call lost without a cursor for what was taken out last")
    found, why = (await desk.find(name), "") if name else await own_session(desk)
    if cursor is not None and (fault := cursor.fault(found.head)):
        raise ToolError(f"{found.name} {fault}; call lost without a cursor for what was taken out last")
    own = f" It is your own session: {why}." if why else ""
    room = Answer((own,), after=("x" * (_LINES + 4 * len(found.name)),)).room(budget)
    page = Page(room)
    newest, start = (found.head, found.head + 1) if cursor is None else (cursor.at or 0, cursor.seq)
    for seam in await _seams(desk, found, newest):
        taken_out = _TakenOut(desk, found, seam, min(start, seam.before + 1))
        more = await _fill(page, taken_out, desk.look(at=seam.before))
        if page.seqs is not None or start <= seam.before:
            return _answer(found, page, seam, own, more=more)
    if cursor is not None:
        return Answer((f"Nothing more was taken out of {found.name} before that.{own}",))
    return Answer((f"Nothing was taken out of {found.name}: all that was said there is still in it.{own}",))


async def _fill(page: Page, taken_out: _TakenOut, look: Look) -> bool:
    """Fill a page from its end, and return whether there was more."""
    layout = Layout()
    while window := await taken_out.next():
        learn_calls(layout, window)
        for message in reversed(window):
            if not page.take(render(message, layout, look), first=True):
                return True
    return False


async def _seams(desk: Desk, found: AgentInfo, newest: int) -> list[_Seam]:
    """Return the seams up to a seq, the newest first."""
    page = await desk.client.history(found.id, kinds=sorted(REPLACING), before=newest + 1, last=_SEAMS)
    return [_Seam(event, event["command"] - 1) for event in reversed(page.events)]


class _TakenOut:
    """What a seam took out, before a seq."""

    def __init__(self, desk: Desk, found: AgentInfo, seam: _Seam, start: int) -> None:
        self._client = desk.client
        self._found = found
        self._states = {seam.seq, found.head}
        self._before = seam.before
        self._earlier = Backwards(desk.client, found.id, start, seam.before)
        self._kept: _Kept | None = None
        # Whether each message so far, from the end, has a copy.
        self._is_at_end = start > seam.before
        self._is_over = False

    async def next(self) -> list[Message]:
        """Return the next window towards the beginning; empty at the place where the states part."""
        wanted: list[Message] = []
        while not wanted and not self._is_over and (window := await self._earlier.next()):
            gone = await self._gone(window)
            self._is_over = len(gone) < len(window)
            if gone and self._kept is None:
                self._kept = await self._kept_after()
            wanted = [each for each in reversed(gone) if not self._is_kept(each)][::-1]
        return wanted

    def _is_kept(self, message: Message) -> bool:
        """Return whether a compaction has put a copy of a message after its summary, or before it.

        A copy by an import has the id of its original in its own. Other copies are those of the last messages, in
        their order: a message that only says the same as a later one is lost.
        """
        kept = self._kept or _Kept(frozenset(), frozenset())
        self._is_at_end = self._is_at_end and _words_of(message) in kept.words
        return self._is_at_end or message.get("ref") in kept.originals

    async def _gone(self, window: list[Message]) -> list[Message]:
        """Return those of some messages that are in neither of the later states."""
        low, high = window[0]["seq"] - 1, window[-1]["seq"] + 1
        there: set[int] = set()
        for at in self._states:
            later = await Forwards(self._client, self._found.id, low, at, until=high).all()
            there |= {each["seq"] for each in later}
        return [each for each in window if each["seq"] not in there]

    async def _kept_after(self) -> _Kept:
        """Return what is known of the messages after the seam that may be copies."""
        found = self._found
        page = await self._client.messages(found.id, since=self._before, limit=_COPIES, at=found.head)
        originals = (each.get("ref", "").rpartition("@")[0] for each in page.messages)
        return _Kept(frozenset(filter(None, originals)), frozenset(map(_words_of, page.messages)))


class _Kept(NamedTuple):
    """The ids of messages that were copied to after a seam, and what the messages there say."""

    originals: frozenset[str]
    words: frozenset[str]


def _words_of(message: Message) -> str:
    return encode([message["role"], message["content"]])


def _answer(found: AgentInfo, page: Page, seam: _Seam, own: str, *, more: bool) -> Answer:
    event = seam.event
    what = f"{_WORDS.get(event['kind'], event['kind'])} at #{event['seq']}, {utc_minute(event['time'])}"
    again = f"lost(conversation={found.name!r}, cursor="
    older = f"What was taken out before that: {again}'{Cursor('before', seam.seq, at=seam.seq - 1)}')"
    if page.seqs is None:
        return Answer((f"That was all that {what}, took out of {found.name}.{own}", older))
    heading = f"This is what {what}, took out of {found.name}; the newest of it is at the end.{own}"
    before = f"Before it: {again}'{Cursor('before', page.seqs[0], at=seam.seq)}')"
    followed = f"What followed: read(conversation={found.name!r}, cursor='{Cursor('after', seam.before)}')"
    return Answer((heading,), page.text, (*([before] if more else []), older, followed))
