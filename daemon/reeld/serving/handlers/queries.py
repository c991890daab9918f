"""The handlers of questions: about the daemon, and about what agents hold."""

import os
from functools import partial
from pathlib import Path
from typing import Any, cast

from reel.errors import InvalidParams, ProtocolMismatch
from reel.frames import PackedList
from reel.msgpack_codec import packer
from reel.session import MAX_ELEMENTS
from reel.version import PROTOCOL, __version__
from reeld.agents import exclusive
from reeld.agents.agent import Agent
from reeld.agents.mail import Look, Mail, Turn
from reeld.core.commands import require_position
from reeld.core.conversation import Conversation
from reeld.core.state import Profile, State, info, marks_as_maps
from reeld.serving.call import Call, Desk, Later, Result, Work
from reeld.serving.greeting import Greeting
from reeld.serving.pages import PAGE_BYTES, PAGE_ITEMS, Window, state_page
from reeld.serving.params import MAX_DEPTH, MAX_ITEMS
from reeld.store.reading import Past, Position, Skip

_pack = packer()


def hello(_desk: Desk, call: Call, client: Any, protocol: Any, notify: list[str] | None, errors: str | None) -> Result:
    """Agree on a protocol version, and remember who calls."""
    lowest, highest = (protocol or {}).get("min", PROTOCOL), (protocol or {}).get("max", PROTOCOL)
    if type(lowest) is not int or type(highest) is not int:
        raise InvalidParams("protocol: expected {min, max}, both integers", field="protocol")
    if not lowest <= PROTOCOL <= highest:
        raise ProtocolMismatch(
            f"this reeld speaks protocol {PROTOCOL}, the client {lowest} to {highest}; install versions that match",
            min=PROTOCOL,
            max=PROTOCOL,
        )
    given = client or {}
    call.peer.greet(Greeting(given.get("name"), given.get("version"), errors, notify))
    return {
        "server": {"name": "reeld", "version": __version__, "pid": os.getpid()},
        "protocol": PROTOCOL,
        "framing": call.peer.framing.name,
        "connection": call.peer.number,
        "features": ["subscriptions", "drafts", "formats"],
        "limits": {
            "message": call.peer.limits.message,
            "values": call.peer.limits.values,
            "elements": MAX_ELEMENTS,
            "page": PAGE_BYTES,
            "items": MAX_ITEMS,
            "depth": MAX_DEPTH,
            "in_flight": call.peer.limits.requests,
        },
    }


def ping(_desk: Desk, _call: Call) -> Result:
    """Give a sign of life."""
    return {"pong": True}


def shutdown(desk: Desk, _call: Call) -> Result:
    """Stop the daemon, once this is answered."""
    desk.stop()
    return {}


def stats(desk: Desk, _call: Call) -> Later:
    """Give counters, sizes and latencies."""

    async def later() -> Result:
        writer, registry = desk.store.writer, desk.registry
        return {
            **desk.counters(),
            **await desk.store.totals(),
            "loaded_agents": len(registry),
            "started_agents": registry.started,
            "failed_agents": registry.failed,
            "mended_agents": registry.mended,
            "commits": writer.commits,
            "events_written": writer.events,
            "longest_commit_us": int(writer.longest_commit * 1e6),
            "memory_kb": _memory_kb(),
            "open_files": len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - counted, not walked
        }

    return later


def _memory_kb() -> int:
    """Give the resident memory; what getrusage says of it is the parent's before the exec."""
    resident = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(resident) * os.sysconf("SC_PAGE_SIZE") // 1024


def agents(
    desk: Desk, _call: Call, prefix: str | None, alive: bool | None, limit: int | None, after: str | None
) -> Later:
    """List agents, in the order in which they were made."""

    async def later() -> Result:
        rows, more = await desk.store.agents(prefix or "", alive, limit or PAGE_ITEMS, after)
        return {"agents": rows, "more": more}

    return later


def agent(desk: Desk, call: Call, agent: Agent) -> Mail:
    """Describe one agent and its living state."""
    hub = desk.registry.hub
    return Look(lambda state: info(state.profile, state.conversation, hub.attached(agent.row)), call.answer)


def messages(
    desk: Desk,
    call: Call,
    agent: Agent,
    since: int | None,
    limit: int | None,
    last: int | None,
    at: int | None,
    view: str | None,
    max_bytes: int | None,
) -> Work:
    """Read the living conversation, or the one of an earlier seq."""
    window = Window(view or "messages", since, limit, last, max_bytes)

    def look(state: State) -> Result:
        return state_page(state.profile, state.conversation, state.profile.head, window, _pack)

    if at is None:
        return Look(look, call.answer)

    def look_at_once(state: State) -> tuple[Profile, Result | None]:
        return state.profile, look(state) if at == state.profile.head else None

    async def later() -> Result:
        profile, page = await desk.registry.ask(agent, lambda answer: Look(look_at_once, answer))
        if page is not None:
            return cast("Result", page)
        position, past = await past_at(desk, agent, profile, at)
        return state_page(profile, Conversation(past.nodes), position.at, window, _pack)

    return later


async def profile_of(desk: Desk, agent: Agent) -> Profile:
    """Look at an agent's profile after everything that was asked of it before."""
    profile: Profile = await desk.registry.ask(agent, lambda answer: Look(lambda state: state.profile, answer))
    return profile


async def past_at(desk: Desk, agent: Agent, profile: Profile, at: int) -> tuple[Position, Past]:
    """Read the state at an earlier seq; the log only grows, so nobody has to hold still."""
    require_position(at, profile.head, profile.name)
    position = await desk.store.position(agent.row, at)
    return position, await desk.store.walk(position.tip)


def history(
    desk: Desk,
    _call: Call,
    agent: Agent,
    since: int | None,
    limit: int | None,
    kinds: list[str] | None,
    inherited: bool | None,
    max_bytes: int | None,
) -> Later:
    """Read the log as it stands."""

    async def later() -> Result:
        profile = await profile_of(desk, agent)
        page = await desk.store.history(
            agent.row,
            since=since or 0,
            head=profile.head,
            limit=limit or PAGE_ITEMS,
            kinds=kinds,
            inherited=bool(inherited),
            max_bytes=max_bytes or PAGE_BYTES,
        )
        return {"agent": profile.uid, "head": profile.head, "events": PackedList(page.events), "more": page.more}

    return later


def replay(
    desk: Desk,
    _call: Call,
    agent: Agent,
    at: int | None,
    view: str | None,
    strict: bool | None,
    since: int | None,
    limit: int | None,
    max_bytes: int | None,
) -> Later:
    """Read the state anew from the log; the living one is compared with it where no position is given."""
    window = Window(view or "messages", since, limit, None, max_bytes)

    async def later() -> Result:
        if at is None and since is None:
            return await _replay_living(desk, agent, window, strict=bool(strict))
        profile = await profile_of(desk, agent)
        position, past = await past_at(desk, agent, profile, profile.head if at is None else at)
        past.skipped.extend(await desk.store.unknown_kinds(agent.row, position.at))
        if strict:
            exclusive.require_sound(past.skipped)
        return _replayed(profile, Conversation(past.nodes), past.skipped, position.at, window)

    return later


async def _replay_living(desk: Desk, agent: Agent, window: Window, *, strict: bool) -> Result:
    found: exclusive.Replayed = await desk.registry.ask(
        agent, lambda answer: Turn(partial(exclusive.replay, strict=strict), answer)
    )
    desk.registry.mended += not found.matched
    page = _replayed(found.profile, found.conversation, found.skipped, found.profile.head, window)
    return {**page, "matched": found.matched}


def _replayed(profile: Profile, conversation: Conversation, skipped: list[Skip], at: int, window: Window) -> Result:
    return {
        **state_page(profile, conversation, at, window, _pack),
        "marks": marks_as_maps(conversation),
        "skipped": [{"seq": skip.seq, "reason": f"{skip.field}: {skip.reason}"} for skip in sorted(skipped)],
    }
