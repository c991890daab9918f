"""The handlers of what nearly every client asks: about the daemon, an agent, and its conversation."""

import os
from functools import partial

from reel.base.errors import InvalidParams, ProtocolMismatch, Storage
from reel.version import PROTOCOL, __version__
from reel.wire.frames import MAX_ELEMENTS, SHORT_MESSAGES
from reeld.agents.agent import Agent
from reeld.agents.asking import look
from reeld.agents.jobs import Read
from reeld.core.commands import not_found
from reeld.core.state import State, info
from reeld.protocol import params
from reeld.protocol.converters import MAX_DEPTH, MAX_ITEMS
from reeld.protocol.params import PAGE_BYTES
from reeld.serving.call import Call, ClientInfo, Deferred, Result, Services, Work
from reeld.serving.handlers.views import view
from reeld.serving.pages import Window, read_page
from reeld.serving.stats import collect
from reeld.serving.stats import details as describe
from reeld.store.hidden import hidden


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
    takes_short = None if asked.client is None else SHORT_MESSAGES in client.get("features", ())
    call.peer.introduce(ClientInfo(client.get("name"), client.get("version"), asked.errors, asked.notify, takes_short))
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
            SHORT_MESSAGES,
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
    if (displaced := services.store.displacement.unsaved) is not None:
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


def messages(services: Services, _call: Call, agent: Agent, asked: params.Messages) -> Deferred:
    """Return the current conversation, or the one at an earlier seq, as messages or in a provider's words."""
    if asked.format is not None and asked.view is not None:
        raise InvalidParams("view: items have no view; leave out view or format", field="view")
    window = Window(asked.view or "messages", asked.since, asked.limit, asked.last, asked.max_bytes)

    async def run() -> Result:
        shown = await view(services, agent, asked.at)
        if asked.view == "lines":
            from reeld.serving.handlers.people import waits_for  # noqa: PLC0415 - only editors ask for lines
            from reeld.serving.line_pages import read_lines  # noqa: PLC0415 - as above

            waits = partial(waits_for, services, agent) if asked.at is None else None
            return await read_lines(services.store, shown, window, services.long_work, waits)
        if asked.format is None:
            return await read_page(services.store, shown, window, services.long_work.in_turn)
        from reeld.serving.item_pages import read_item_page  # noqa: PLC0415 - it needs all formats

        return await read_item_page(services, agent.row, shown, window, asked.format)

    return Deferred(run)
