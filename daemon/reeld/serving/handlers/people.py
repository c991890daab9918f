"""The handlers of what people look at: the facts of a conversation, its last answer, and what it waits for."""

from collections.abc import Iterable
from typing import Any

from reel.reading.approvals import KINDS, MESSAGES, NEWEST, asked_for, looked_at_after, waiting
from reel.reading.facts import facts as as_lines
from reel.reading.fullness import COUNTS, MOST, Fullness, counted_in, fullness
from reel.wire.msgpack_codec import packer, unpack
from reel.wire.short_messages import unpacked
from reeld.agents.agent import Agent
from reeld.agents.asking import look
from reeld.core.events import Entry
from reeld.core.state import State, info
from reeld.protocol import params
from reeld.serving.answers import last_answer
from reeld.serving.call import Call, Deferred, Result, Services
from reeld.serving.handlers.views import now, view_now
from reeld.serving.pages import View, Window, is_message, read_entries
from reeld.store import history as log
from reeld.store import queries


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
    shown = await view_now(services, agent)

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
        later = (unpacked(entry.message) for entry in entries if entry.message is not None)
        return fullness(counted, later, shown.system, {})

    window = Window(since=counted.seq, last=MOST)
    return await read_entries(services.store, shown, window, is_message, measured, services.long_work.in_thread)


async def waits_for(services: Services, agent: Agent) -> str:
    """Return what a conversation waits for, if it waits for a person; else nothing."""

    def at(state: State) -> tuple[View, list[tuple[str, str]]]:
        return now(state), [(call.id, call.name) for call in state.conversation.open_calls]

    def said(entries: Iterable[Entry]) -> list[Any]:
        return [unpacked(entry.message) for entry in entries if entry.message is not None]

    shown, calls = await look(services.registry, agent, at)
    in_thread = services.long_work.in_thread
    window = Window(last=MESSAGES if calls else 1)
    newest = await read_entries(services.store, shown, window, is_message, said, in_thread)
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
        shown = await view_now(services, agent)
        found = await last_answer(services.store, shown, services.long_work, code=asked.code)
        return {"agent": shown.profile.uid, "head": shown.profile.head, **found._asdict()}

    return Deferred(run)
