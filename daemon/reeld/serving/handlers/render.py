"""The handler of ``render``: a conversation as the body of a request to a provider."""

import time
from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from reel.base.errors import InvalidParams, TooLarge
from reel.base.light_typing import NamedTuple
from reel.said.kinds import ROLES
from reel.wire.msgpack_codec import packer
from reeld.agents.agent import Agent
from reeld.agents.asking import look
from reeld.core.commands import no_such_mark, require_position
from reeld.core.conversation import Conversation
from reeld.core.events import Entry, entry, read
from reeld.core.freeing import let_go
from reeld.core.milestones import Milestone
from reeld.core.recent import Recent, recent
from reeld.core.rows import Row
from reeld.core.state import State
from reeld.core.validation import rows_from
from reeld.formats.body import Rendered, RenderRequest
from reeld.formats.budget import BYTES_PER_TOKEN, TooRecent
from reeld.formats.prefix import Prefix
from reeld.formats.render import render as render_body
from reeld.formats.render_state import RenderState
from reeld.protocol.params import Render
from reeld.serving.call import Call, Deferred, Result, Services
from reeld.serving.handlers.views import profile_of
from reeld.serving.pages import is_message
from reeld.serving.renderings import Asked
from reeld.store import positions
from reeld.store.store import Store

# The most characters of a body. No provider accepts more, and a client has to hold it in memory.
MAX_BODY = 48 << 20
# The most changes that a reply lists. A conversation of 100,000 messages may have as many, too many for any client.
MAX_REPORT = 1000
# With a budget, so many times as many bytes of the newest messages are looked at: stored and sent they differ in size,
# and where the history is cut follows from how it grew. Where that is too little, so many times more.
_BUDGETS = 4


class _Snapshot(NamedTuple):
    """A conversation at a seq, which a thread may read while the agent goes on."""

    # The agent's id.
    uid: str
    at: int
    # The seq of the newest record.
    newest: int
    history: Recent
    prompt: Entry | None
    # The seq of the mark up to which a budget drops nothing, or 0.
    pin: int
    # What must be read first, because more is needed than is in memory.
    lacks: Milestone | None


def render(services: Services, _call: Call, agent: Agent, asked: Render) -> Deferred:
    """Render the current conversation, or the one at an earlier seq."""
    earlier = None if asked.after is None else Prefix(**asked.after)
    then = None if asked.then is None else _messages(asked.then)

    async def run() -> Result:
        request = RenderRequest(
            asked.format,
            asked.model,
            asked.extra,
            asked.budget,
            asked.open,
            0,
            earlier,
            asked.cache,
            time.time(),
            asked.dialect,
            None if asked.tools is None else frozenset(asked.tools),
        )
        # What is pinned, or left when the newest is cut off, is at the beginning, so all of the conversation is needed.
        is_newest = asked.pin is None and asked.upto is None
        size = _BUDGETS * asked.budget * BYTES_PER_TOKEN if is_newest and asked.budget is not None else None
        while True:
            is_current = asked.at is None and asked.upto is None and then is None
            age = services.render_cache.age if is_current else None
            snapshot = await _take_snapshot(services, agent, asked.at, asked.pin, size)
            if asked.upto is not None:
                snapshot = _cut(snapshot, asked.upto)
            if then is not None:
                snapshot = _followed(snapshot, then)
            try:
                rendered = await _render(services, agent, request._replace(pin=snapshot.pin), snapshot, age)
                break
            except TooRecent:
                size = (size or 1) * _BUDGETS
        newest = rendered._replace(report=rendered.report[-MAX_REPORT:])
        reply: Result = {**newest.as_map(), "agent": snapshot.uid, "at": snapshot.at, "newest": snapshot.newest}
        if len(rendered.report) > MAX_REPORT:
            reply["omitted"] = len(rendered.report) - MAX_REPORT
        return reply

    return Deferred(run)


def _messages(given: Any) -> list[Row]:
    """Return messages that are rendered as if they had been said.

    Raises:
        InvalidParams: one of them is no message.
        InvalidMessage: one of them is not valid.
    """
    rows = [row for row, _ in rows_from(given)[0]]
    if any(row.kind not in ROLES for row in rows):
        raise InvalidParams("then: expected messages of a user, an assistant or a tool", field="then")
    return rows


def _cut(snapshot: _Snapshot, upto: int) -> _Snapshot:
    """Return a snapshot without the records after a seq; the prompt stays the one in force."""
    entries = snapshot.history.entries
    kept = entries[: bisect_right(entries, upto, key=attrgetter("seq"))]
    return snapshot._replace(history=snapshot.history._replace(entries=kept))


def _followed(snapshot: _Snapshot, rows: Sequence[Row]) -> _Snapshot:
    """Return a snapshot with messages behind it, which are not stored."""
    entries, pack, now = snapshot.history.entries, packer(), int(time.time() * 1000)
    newest = entries[-1].id if entries else 0
    more: list[Entry] = []
    for number, row in enumerate(rows, 1):
        seq = snapshot.at + number
        message, tools = read(pack, row.kind, row.content, row.data_json, seq, now)
        more.append(entry(newest + number, seq, row.kind, row.content, row.data_json, now, message, tools))
    return snapshot._replace(history=snapshot.history._replace(entries=[*entries, *more]))


async def _take_snapshot(
    services: Services, agent: Agent, at: int | None, pin: str | None, size: int | None
) -> _Snapshot:
    """Return the conversation as it is, or as the log says that it was.

    Args:
        services: the daemon's.
        agent: whose conversation it is.
        at: at which seq; ``None`` for the current one.
        pin: the label of a mark.
        size: so many bytes of its newest messages are enough; ``None`` if all of them are needed.
    """
    registry, store = services.registry, services.store
    if at is not None:
        profile = await profile_of(services, agent)
        require_position(at, profile.head, profile.name)
        position = await store.read(positions.kept_position, agent.row, at)
        then = State(profile, await _read(store, position.tip, size))
        return await _with_first(store, _snapshot_of(then, position.at, pin, size, is_shared=False))
    older: Conversation | None = None

    def snapshot(state: State) -> _Snapshot:
        base, is_shared = state.conversation.base, True
        if older is not None and base is not None and base.id == older.tip:
            older.extend(state.conversation)
            is_shared = registry.residency.has_room_for(older)
            if is_shared:
                state.conversation = older
            else:  # it would be dropped at once
                state = State(state.profile, older)
        return _snapshot_of(state, state.profile.head, pin, size, is_shared=is_shared)

    while True:
        found = await look(registry, agent, snapshot)
        if found.lacks is None:
            registry.residency.limit_memory()
            return await _with_first(store, found)
        older = await _read(store, found.lacks.id, size)


async def _read(store: Store, tip: int | None, size: int | None) -> Conversation:
    """Return the state with this tip, with as much of it in memory as :func:`reeld.core.recent.recent` wants."""
    return await (store.whole(tip) if size is None or tip is None else store.newest(tip, 2 * size))


def _snapshot_of(state: State, at: int, pin: str | None, size: int | None, *, is_shared: bool) -> _Snapshot:
    """Return a snapshot of a state; if it is not shared, its entries need not be copied, which may be a million."""
    conversation = state.conversation
    mark = None if pin is None else conversation.mark_for(pin)
    if pin is not None and mark is None:
        raise no_such_mark(state, pin)
    history = None
    if size is not None:
        history = recent(conversation, size)
    elif conversation.base is None:
        history = Recent(conversation.entries[:] if is_shared else conversation.entries)
    lacks = conversation.base if history is None else None
    return _Snapshot(
        state.profile.uid,
        at,
        conversation.newest_seq,
        history or Recent([]),
        conversation.prompt,
        mark.seq if mark else 0,
        lacks,
    )


async def _with_first(store: Store, snapshot: _Snapshot) -> _Snapshot:
    """Return a snapshot that has the seq of the conversation's first message, if it is not among the entries."""
    history = snapshot.history
    if history.earlier is None:
        return snapshot
    first = await store.read_entries(
        history.earlier.milestone, 0, None, is_message, lambda entries: next(filter(is_message, entries), None)
    )
    earlier = history.earlier._replace(first=0 if first is None else first.seq)
    return snapshot._replace(history=history._replace(earlier=earlier))


async def _render(
    services: Services, agent: Agent, asked: RenderRequest, snapshot: _Snapshot, age: int | None
) -> Rendered:
    """Render in a thread; keep the state of rendering the current conversation for the next time.

    Args:
        services: the daemon's.
        agent: whose conversation it is.
        asked: the request.
        snapshot: the conversation.
        age: that of the cache when the current conversation was read; ``None`` for an earlier one.
    """
    key = agent.row, asked.format
    known = None if age is None else services.render_cache.pop(key)
    entries, earlier = snapshot.history

    def work() -> tuple[Rendered, RenderState]:
        try:
            rendered, state = render_body(asked, entries, snapshot.prompt, known, earlier)
            _require_sendable(rendered)
            return rendered, state
        finally:
            let_go(entries)

    rendered, state = await services.long_work.in_thread(work)
    if age is not None:
        services.render_cache.put(key, state, age)
        services.unanswered.note(key, Asked(state.model, rendered.prefix.body))
    return rendered


def _require_sendable(rendered: Rendered) -> None:
    # There are at most as many characters as bytes.
    if len(rendered.text) > MAX_BODY and (characters := rendered.text.characters) > MAX_BODY:
        raise TooLarge(
            f"the body has {characters} characters, more than the limit of {MAX_BODY}; give a budget",
            limit=MAX_BODY,
        )
