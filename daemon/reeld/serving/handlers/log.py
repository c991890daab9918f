"""The handlers that read the log: its events, the values beside the conversation, and what it says of the state."""

from functools import partial

from reel.wire.msgpack_codec import packer
from reeld.agents import replaying
from reeld.agents.agent import Agent
from reeld.agents.asking import ask
from reeld.agents.jobs import Exclusive
from reeld.core.commands import require_position
from reeld.core.conversation import Conversation
from reeld.core.state import Profile, marks_as_maps
from reeld.protocol import params
from reeld.serving.call import Call, Deferred, Result, Services
from reeld.serving.handlers.views import profile_of
from reeld.serving.pages import Window, read_page, view_of
from reeld.store import history as log
from reeld.store import positions, queries, values
from reeld.store.states import Skip
from reeld.wire.encoded import PackedList


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
            end = (await services.store.read(positions.position, agent.row, asked.at)).at
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
        position = await services.store.read(positions.kept_position, agent.row, wanted)
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
