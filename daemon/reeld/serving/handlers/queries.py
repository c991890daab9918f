"""The handlers of queries: about the daemon, and about what agents hold."""

import os
from collections.abc import Awaitable, Iterable
from functools import partial
from typing import Any

from reel.base.errors import InvalidParams, ProtocolMismatch, Storage
from reel.reading.approvals import KINDS, MESSAGES, NEWEST, asked_for, looked_at_after, waiting
from reel.reading.facts import facts as as_lines
from reel.reading.fullness import COUNTS, MOST, Fullness, counted_in, fullness
from reel.version import PROTOCOL, __version__
from reel.wire.frames import MAX_ELEMENTS
from reel.wire.msgpack_codec import packer, unpack
from reeld.agents import replaying
from reeld.agents.agent import Agent
from reeld.agents.asking import ask, look
from reeld.agents.jobs import Exclusive, Read
from reeld.core.commands import not_found, require_position
from reeld.core.conversation import Conversation
from reeld.core.events import Entry
from reeld.core.state import Profile, State, info, marks_as_maps
from reeld.protocol import params
from reeld.protocol.converters import MAX_DEPTH, MAX_ITEMS
from reeld.protocol.params import PAGE_BYTES
from reeld.search.query import label_filter
from reeld.serving.answers import last_answer
from reeld.serving.call import Call, ClientInfo, Deferred, Result, Services, Work
from reeld.serving.line_pages import read_lines
from reeld.serving.pages import View, Window, is_message, read_entries, read_page, view_of
from reeld.serving.stats import collect
from reeld.serving.stats import details as describe
from reeld.store import history as log
from reeld.store import listing, queries, states, values
from reeld.store.hidden import hidden
from reeld.store.listing import Listing
from reeld.store.states import Skip
from reeld.wire.encoded import PackedList


def hello(services: Services, call: Call, asked: params.Hello) -> Result:
    """Negotiate the protocol version, and remember what the client says about itself."""
    spoken = asked.protocol or {}
    lowest, highest = spoken.get("min", PROTOCOL), spoken.get("max", PROTOCOL)
    if type(lowest) is not int or type(highest) is not int:
        raise InvalidParams("protocol: expected {min, max}, both integers", field="protocol")
    if not lowest <= PROTOCOL <= highest:
        raise ProtocolMismatch(
            f"reeld speaks protocol {PROTOCOL}, the client {lowest} to {highest}; install matching versions",
            min=PROTOCOL,
            max=PROTOCOL,
        )
    client = asked.client or {}
    call.peer.introduce(ClientInfo(client.get("name"), client.get("version"), asked.errors, asked.notify))
    return {
        "server": {"name": "reeld", "version": __version__, "pid": os.getpid()},
        "protocol": PROTOCOL,
        "framing": call.peer.framing.name,
        "connection": call.peer.number,
        "features": [
            "subscriptions",
            "drafts",
            "formats",
            "remembered",
            "without_tag",
            "sources",
            "histories",
            "lines",
            "append",
            "facts",
            "short_names",
            "supersedes",
            "asides",
            "dirs",
            "clone_sent",
            "purged",
            "ranking",
            "ids",
            "copies",
            "thinking",
            "listed_dirs",
            "patterns",
            "edits",
            "append_together",
            "prune",
            "gone",
            "tokens",
        ],
        "limits": {
            "message": call.peer.limits.message,
            "values": call.peer.limits.values,
            "elements": MAX_ELEMENTS,
            "page": PAGE_BYTES,
            "items": MAX_ITEMS,
            "depth": MAX_DEPTH,
            "in_flight": call.peer.limits.requests,
        },
        "changes": None if services.store.is_shared else services.store.writer.changes.offer,
    }


def ping(_services: Services, _call: Call, _: params.Nothing) -> Result:
    """Answer at once."""
    return {"pong": True}


def shutdown(services: Services, _call: Call, _: params.Nothing) -> Result:
    """Stop the daemon, after this is answered.

    Raises:
        Storage: files that the daemon has open would be lost; a signal stops it nevertheless.
    """
    if (displaced := services.store.unsaved) is not None:
        raise Storage(
            f"{displaced.about}, and everything in it is lost when reeld stops; save it with: reel backup FILE;"
            f" to give it up: kill {os.getpid()}"
        )
    services.stop()
    return {}


def stats(services: Services, _call: Call, asked: params.Stats) -> Deferred:
    """Return counters, sizes and latencies."""

    async def run() -> Result:
        collected = await collect(services)
        return {**collected, **describe(services)} if asked.details else collected

    return Deferred(run)


def agents(services: Services, _call: Call, asked: params.Agents) -> Deferred:
    """List agents."""
    labels = label_filter(asked.query) if asked.query else None
    accepts, pieces = labels or (None, ())

    async def run() -> Result:
        writers = services.drafts.writers() if asked.details else None
        unseen = await hidden(services.store, asked.without_tag)
        wanted = Listing(asked, writers, accepts, pieces, unseen)
        page = await services.store.read_long(listing.agents, wanted, packer())
        return {"agents": PackedList(page.items), "more": page.more}

    return Deferred(run)


def agent(services: Services, call: Call, agent: Agent, asked: params.Described) -> Work:
    """Describe one agent and its current state."""

    def describe(state: State) -> Result:
        return info(state.profile, state.conversation, services.registry.bus.attached(agent.row))

    async def describe_unless_hidden() -> Result:
        found = await look(services.registry, agent, describe)
        if agent.row in await hidden(services.store, asked.without_tag):
            raise not_found(found["id"])
        return found

    return Read(describe, call.answer) if asked.without_tag is None else Deferred(describe_unless_hidden)


def facts(services: Services, _call: Call, agent: Agent, _: params.Nothing) -> Deferred:
    """Describe one agent in lines, one for each fact."""

    async def run() -> Result:
        attached = services.registry.bus.attached(agent.row)
        found = await look(services.registry, agent, lambda state: info(state.profile, state.conversation, attached))
        source = found.get("source")
        origin = await services.store.read(queries.find, source["agent"]) if source else None
        context = str(await _context(services, agent)) if found["messages"] else ""
        return {"agent": found["id"], "name": found["name"], "lines": as_lines(found, origin and origin.name, context)}

    return Deferred(run)


async def _context(services: Services, agent: Agent) -> Fullness:
    """Return how full a model's context is with the current conversation."""
    shown = await _view_now(services, agent)

    async def events(asked: params.History) -> list[Any]:
        page = await services.store.read_long(log.history, agent.row, shown.profile.head, asked, packer())
        return [*map(unpack, page.items)]

    counted = counted_in(
        await events(params.History(kinds=["usage"], inherited=True, last=COUNTS, live=True, tokens=True))
    )
    if counted.command:
        first = await events(params.History(since=counted.command - 1, limit=1, inherited=True))
        counted = counted.unless_again(first)

    def measured(entries: Iterable[Entry]) -> Fullness:
        later = (unpack(entry.message) for entry in entries if entry.message is not None)
        return fullness(counted, later, shown.system, {})

    window = Window(since=counted.seq, last=MOST)
    return await read_entries(services.store, shown, window, is_message, measured, services.long_work.in_thread)


def messages(services: Services, _call: Call, agent: Agent, asked: params.Messages) -> Deferred:
    """Return the current conversation, or the one at an earlier seq, as messages or in a provider's words."""
    if asked.format is not None and asked.view is not None:
        raise InvalidParams("view: items have no view; leave out view or format", field="view")
    window = Window(asked.view or "messages", asked.since, asked.limit, asked.last, asked.max_bytes)

    async def run() -> Result:
        shown = await view(services, agent, asked.at)
        if asked.view == "lines":
            waits = partial(waits_for, services, agent) if asked.at is None else None
            return await read_lines(services.store, shown, window, services.long_work, waits)
        if asked.format is None:
            return await read_page(services.store, shown, window, services.long_work.in_turn)
        from reeld.serving.item_pages import read_item_page  # noqa: PLC0415 - it needs all formats

        return await read_item_page(services, agent.row, shown, window, asked.format)

    return Deferred(run)


async def waits_for(services: Services, agent: Agent) -> str:
    """Return what a conversation waits for, if it waits for a person; else nothing."""

    def at(state: State) -> tuple[View, list[tuple[str, str]]]:
        return _now(state), [(call.id, call.name) for call in state.conversation.open_calls]

    def unpacked(entries: Iterable[Entry]) -> list[Any]:
        return [unpack(entry.message) for entry in entries if entry.message is not None]

    shown, calls = await look(services.registry, agent, at)
    in_thread = services.long_work.in_thread
    window = Window(last=MESSAGES if calls else 1)
    newest = await read_entries(services.store, shown, window, is_message, unpacked, in_thread)
    since = looked_at_after(newest[-1]["seq"] if newest else 0)
    asked = params.History(kinds=[*KINDS], inherited=True, last=NEWEST, live=True, since=since)
    found = await services.store.read_long(log.history, agent.row, shown.profile.head, asked, packer())

    def words() -> str:
        what = asked_for(newest, calls, [*map(unpack, found.items)])
        return "" if what is None else waiting(what)

    return await in_thread(words) if found.items else words()


def answer(services: Services, _call: Call, agent: Agent, asked: params.Answer) -> Deferred:
    """Return the last answer, or the last code block of an answer."""

    async def run() -> Result:
        shown = await _view_now(services, agent)
        found = await last_answer(services.store, shown, services.long_work, code=asked.code)
        return {"agent": shown.profile.uid, "head": shown.profile.head, **found._asdict()}

    return Deferred(run)


def _view_now(services: Services, agent: Agent) -> Awaitable[View]:
    """Return the current conversation."""
    return look(services.registry, agent, _now)


def _now(state: State) -> View:
    return view_of(state.profile, state.conversation, state.profile.head, state.conversation.tip)


async def view(services: Services, agent: Agent, at: int | None) -> View:
    """Return a conversation at a position; it is read from the log only if it is not in memory."""
    if at is None:
        return await _view_now(services, agent)
    profile = await profile_of(services, agent)
    require_position(at, profile.head, profile.name)
    end, tip = await services.store.read(states.kept_position, agent.row, at)

    def look_back(state: State) -> View | None:
        return view_of(profile, state.conversation, end, tip) if state.conversation.has(tip) else None

    earlier = await look(services.registry, agent, look_back)
    return view_of(profile, await _read_earlier(services, agent.row, tip), end, tip) if earlier is None else earlier


async def _read_earlier(services: Services, row: int, tip: int | None) -> Conversation:
    """Return the state of an agent with this tip; the last one is kept, because the next page shows it, too."""
    cache = services.render_cache
    key, age = (row, "earlier"), cache.age
    known: Conversation | None = cache.take(key)
    found = await services.store.state(tip) if known is None or known.tip != tip else known
    cache.put(key, found, age)
    return found


def profile_of(services: Services, agent: Agent) -> Awaitable[Profile]:
    """Return an agent's profile, after all earlier requests to it are done."""
    return look(services.registry, agent, lambda state: state.profile)


def history(services: Services, _call: Call, agent: Agent, asked: params.History) -> Deferred:
    """Return events of the log."""

    async def run() -> Result:
        profile = await profile_of(services, agent)
        # Before the page is read: the page may contain what the next erasure removes.
        erasures = services.store.eraser.applied
        page = await services.store.read_long(log.history, agent.row, profile.head, asked, packer())
        about = {"agent": profile.uid, "head": profile.head, "erasures": erasures}
        return {**about, "events": PackedList(page.items), "more": page.more}

    return Deferred(run)


def histories(services: Services, _call: Call, asked: params.Histories) -> Deferred:
    """Return events of the logs of several agents. As for a list, none of them is loaded."""

    async def run() -> Result:
        page = await services.store.read_long(log.histories, asked, packer())
        return {"events": PackedList(page.items), "more": page.more}

    return Deferred(run)


def state(services: Services, _call: Call, agent: Agent, asked: params.State) -> Deferred:
    """Return the values of an agent, now or at an earlier seq."""

    async def run() -> Result:
        profile = await profile_of(services, agent)
        end = profile.head
        if asked.at is not None:
            require_position(asked.at, profile.head, profile.name)
            end = (await services.store.read(states.position, agent.row, asked.at)).at
        page = await services.store.read_long(values.values, agent.row, end, asked, packer())
        shown = {"agent": profile.uid, "head": profile.head, "at": end, "values": PackedList(page.items)}
        more = page.after is not None
        return {**shown, "more": more, "next": page.after} if more else {**shown, "more": more}

    return Deferred(run)


def replay(services: Services, _call: Call, agent: Agent, asked: params.Replay) -> Deferred:
    """Rebuild the state from the log; if no position is given, compare the current one with it."""
    window = Window(asked.view, asked.since, asked.limit, None, asked.max_bytes)

    async def run() -> Result:
        if asked.at is None and asked.since is None:
            return await _replay_current(services, agent, window, strict=asked.strict)
        profile = await profile_of(services, agent)
        wanted = profile.head if asked.at is None else asked.at
        require_position(wanted, profile.head, profile.name)
        position = await services.store.read(states.kept_position, agent.row, wanted)
        rebuilt = await services.store.rebuild(agent.row, position)
        skipped = rebuilt.skipped + await services.store.read_long(queries.unknown_kinds, agent.row, position.at)
        if asked.strict:
            replaying.require_sound(skipped)
        return await _replayed(services, profile, rebuilt.conversation, skipped, position.at, window)

    return Deferred(run)


async def _replay_current(services: Services, agent: Agent, window: Window, *, strict: bool) -> Result:
    replayed: replaying.Replayed = await ask(
        services.registry, agent, partial(Exclusive, partial(replaying.replay, strict=strict))
    )
    services.registry.note_replay(matched=replayed.matched)
    profile, conversation, skipped, matched = replayed
    page = await _replayed(services, profile, conversation, skipped, profile.head, window)
    return {**page, "matched": matched}


async def _replayed(
    services: Services, profile: Profile, conversation: Conversation, skipped: list[Skip], at: int, window: Window
) -> Result:
    shown = view_of(profile, conversation, at, conversation.tip)
    return {
        **await read_page(services.store, shown, window, services.long_work.in_turn),
        "marks": marks_as_maps(conversation),
        "skipped": [{"seq": skip.seq, "reason": f"{skip.field}: {skip.reason}"} for skip in sorted(set(skipped))],
    }
