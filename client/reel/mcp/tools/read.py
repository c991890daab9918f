"""The tool ``read``: a bounded part of one conversation."""

from __future__ import annotations

from reel.aio.client import Client
from reel.base.light_typing import NamedTuple
from reel.base.values import MAX_INTEGER
from reel.mcp.answers.answer import Answer
from reel.mcp.answers.cursors import Cursor
from reel.mcp.answers.page import Page
from reel.mcp.answers.rendering import Look, Rendering, render, render_text
from reel.mcp.tools.arguments import Arguments, ToolError
from reel.mcp.tools.desk import Desk
from reel.mcp.tools.logs import Filling, Forwards, event_at
from reel.reading.layout import Layout
from reel.reading.wording import utc_minute
from reel.replies import AgentInfo
from reel.said.kinds import CONVERSATION, REPLACING
from reel.said.messages import Event

# How many messages before the one that was asked for are shown for its context.
_CONTEXT = 4
# How many later events are looked at for the one that took a message out of the conversation.
_LATER = 200
# The bytes of the lines with cursors, without the name of the conversation.
_CURSORS = 220
# What is in a conversation as a message.
_MESSAGES = CONVERSATION - {"system"}


class _State(NamedTuple):
    """A state of a conversation: after which seq, and whether that is the present one."""

    at: int
    is_now: bool


async def read(desk: Desk, given: Arguments) -> Answer:
    """Answer with a part of a conversation: around a message, from a cursor on, or its end."""
    budget, cursor, seq = given.budget, given.cursor, given.seq
    found = await desk.find(given.text("conversation"))
    if cursor is not None:
        return await _go_on(desk, found, cursor, budget)
    if seq is not None:
        return await _around(desk, found, seq, budget, thinking=given.flag("thinking"))
    filling = _filling(desk, found, found.head, budget, thinking=given.flag("thinking"))
    await filling.before(found.head + 1)
    return _answer(found, filling, "These are the newest messages of", _State(found.head, is_now=True))


def _filling(desk: Desk, found: AgentInfo, at: int, budget: int, *, thinking: bool) -> Filling:
    room = _room((_heading(found, f"This is #{MAX_INTEGER}, with what is around it, in", past=True),), found, budget)
    return Filling(desk.client, found.id, Page(room), desk.look(thinking=thinking, at=at), at)


def _room(before: tuple[str, ...], found: AgentInfo, budget: int) -> int:
    """Return how many bytes messages may take between our lines."""
    return Answer(before, after=("x" * (_CURSORS + 2 * len(found.name)),)).room(budget)


def _heading(found: AgentInfo, what: str, *, past: bool) -> str:
    state = " as it was then: this is no longer a part of it" if past else ""
    return f"{what} {found.name}{state}."


async def _go_on(desk: Desk, found: AgentInfo, cursor: Cursor, budget: int) -> Answer:
    if fault := cursor.fault(found.head):
        raise ToolError(
            f"{found.name} {fault}; read it without a cursor for its end, or with after-0 for its beginning"
        )
    at = found.head if cursor.at is None else cursor.at
    is_now = at == found.head or not await _is_past(desk.client, found, at)
    filling = _filling(desk, found, at, budget, thinking=cursor.thinking)
    state = _State(at, is_now)
    if cursor.direction == "in":
        return await _inside(desk, found, cursor, budget, state)
    if cursor.direction == "before":
        await filling.before(cursor.seq)
        filling.more_after = True
        return _answer(found, filling, f"This is what comes before #{cursor.seq} in", state)
    await filling.after(cursor.seq)
    filling.more_before = cursor.seq > 0
    return _answer(found, filling, f"This is what comes after #{cursor.seq} in", state)


async def _is_past(client: Client, found: AgentInfo, at: int) -> bool:
    """Return whether the conversation went on elsewhere than from a state."""
    page = await client.history(found.id, since=at, kinds=sorted(REPLACING), limit=1)
    return bool(page.events)


async def _inside(desk: Desk, found: AgentInfo, cursor: Cursor, budget: int, state: _State) -> Answer:
    """Answer with the text of one message from a character on."""
    look = desk.look(thinking=cursor.thinking, at=state.at)
    rendering = await _message(desk.client, found, cursor.seq, state.at, look)
    if rendering is None:
        event = await event_at(desk.client, found.id, cursor.seq)
        if event is not None and event["kind"] in _MESSAGES:
            raise ToolError(
                f"#{cursor.seq} was not in {found.name} as of #{state.at}; read it with seq {cursor.seq}, where it was"
            )
        raise ToolError(_why_not(found, cursor.seq, event))
    heading = f"This is #{cursor.seq} of {found.name}, from where the cursor says on."
    text, following = rendering.rest(cursor.part, cursor.offset, _room((heading,), found, budget))
    if not text:
        raise ToolError(
            f"#{cursor.seq} of {found.name} is shorter than that cursor says; read it with seq {cursor.seq}"
        )
    after = Cursor("after", cursor.seq, at=state.at, thinking=cursor.thinking) if following is None else following
    what = "It ends here; what comes after it" if following is None else "It goes on"
    return Answer((heading,), text, (f"{what}: {_call(found, after)}",))


async def _message(client: Client, found: AgentInfo, seq: int, at: int, look: Look) -> Rendering | None:
    """Return a message, or another event with a text, as it is in a state."""
    if window := await Forwards(client, found.id, seq - 1, at, until=seq + 1).next():
        return render(window[0], Layout(), look)
    event = await event_at(client, found.id, seq)
    if event is None or event["kind"] not in ("system", "note"):
        return None
    heading = f"#{seq} {event['kind']}, {utc_minute(event.get('sent', event['time']))}"
    return render_text(seq, heading, event["content"] or "", look)


async def _around(desk: Desk, found: AgentInfo, seq: int, budget: int, *, thinking: bool) -> Answer:
    """Answer with a message, and what comes before and after it where it stands or stood."""
    client = desk.client
    event = await event_at(client, found.id, seq)
    state = await _state_with(client, found, seq, event)
    filling = _filling(desk, found, state.at, budget, thinking=thinking)
    target = await _message(client, found, seq, state.at, desk.look(thinking=thinking, at=state.at))
    if target is None:
        raise ToolError(_why_not(found, seq, event))
    filling.page.take_target(target)
    await filling.before(seq, _CONTEXT)
    await filling.after(seq)
    return _answer(found, filling, f"This is #{seq}, with what is around it, in", state)


async def _state_with(client: Client, found: AgentInfo, seq: int, event: Event | None) -> _State:
    """Return the newest state of a conversation that has an event: the present one, or that before it was taken out."""
    if seq > found.head or (event is not None and event["kind"] not in _MESSAGES):
        return _State(found.head, is_now=True)
    if await _has(client, found, seq, found.head):
        return _State(found.head, is_now=True)
    newest = seq
    page = await client.history(found.id, since=seq, kinds=sorted(REPLACING), limit=_LATER)
    for later in page.events:
        before = later["command"] - 1
        if before > seq and not await _has(client, found, seq, before):
            break
        newest = max(newest, before)
    return _State(newest, is_now=False)


async def _has(client: Client, found: AgentInfo, seq: int, at: int) -> bool:
    page = await client.messages(found.id, since=seq - 1, at=at, limit=1)
    return bool(page.messages) and page.messages[0]["seq"] == seq


def _why_not(found: AgentInfo, seq: int, event: Event | None) -> str:
    if seq > found.head:
        return f"{found.name} has no #{seq}, its newest is #{found.head}; read it without seq for its end"
    what = "was removed for good, or belongs to another conversation"
    if event is not None:
        what = f"is not a message but an event of the kind {event['kind']}"
    return f"#{seq} of {found.name} {what}; read on from there with cursor after-{seq}, or search for what was said"


def _answer(found: AgentInfo, filling: Filling, what: str, state: _State) -> Answer:
    """Return the answer of a page, with the cursors for what is before and after it."""
    seqs, thinking = filling.page.seqs, filling.look.thinking
    if seqs is None:
        later = _call(found, Cursor("after", found.head, thinking=thinking))
        return Answer((f"{what} {found.name}: there is nothing.", f"What is said later: {later}"))
    after = []
    if filling.more_before:
        after.append(f"Before it: {_call(found, Cursor('before', seqs[0], at=state.at, thinking=thinking))}")
    if filling.more_after:
        after.append(f"After it: {_call(found, Cursor('after', seqs[1], at=state.at, thinking=thinking))}")
    elif state.is_now:
        after.append(f"What is said later: {_call(found, Cursor('after', seqs[1], thinking=thinking))}")
    return Answer((_heading(found, what, past=not state.is_now),), filling.page.text, tuple(after))


def _call(found: AgentInfo, cursor: Cursor) -> str:
    return f"read(conversation={found.name!r}, cursor='{cursor}')"
