"""The handlers for clients that follow a conversation live: subscribe, wait, draft."""

from collections.abc import Iterable
from typing import Self

import anyio

from reel.base.errors import InvalidParams
from reel.base.wakeup import Signal
from reel.wire.msgpack_codec import packer, unpack
from reeld.agents.agent import Agent
from reeld.agents.event_bus import CommittedEvent, EventBus, Typist, Whose
from reeld.agents.jobs import Job, Read
from reeld.core.state import State
from reeld.protocol import params
from reeld.serving.call import Call, Detached, Result, Services, Work
from reeld.serving.handlers.views import profile_of
from reeld.serving.subscriptions import Subscription
from reeld.store import history
from reeld.wire.encoded import PackedList


def subscribe(services: Services, call: Call, agent: Agent | None, asked: params.Subscribe) -> Work:
    """Push the events of an agent, or of all, from now on or from a position of the log."""

    def begin(whose: Whose | None, head: int) -> Result:
        row = None if whose is None else whose.row
        kinds = None if asked.kinds is None else frozenset(asked.kinds)
        made = call.peer.subscriptions.make(Subscription, whose, asked.view, kinds)
        position = head if asked.since is None else asked.since

        def begin_pushing() -> None:
            if asked.time is not None:
                made.remember(asked.time)
            call.peer.subscriptions.begin(made, position, live=position >= head and asked.time is None)
            services.drafts.show_to(made, row)

        call.then = begin_pushing  # the peer must know the subscription's number before the first push
        return {"sub": made.number, "head": head}

    if asked.view == "lines":
        from reeld.serving.handlers.lines import subscribe_lines  # noqa: PLC0415 - only editors ask for lines

        return subscribe_lines(services, call, agent, asked)
    if asked.at is not None:
        raise InvalidParams("at: only lines are of an earlier state; leave out at, or give since", field="at")
    if agent is None:
        return begin(None, services.registry.bus.newest)
    return Read(lambda state: {**begin(state.profile, state.profile.head), "agent": state.profile.uid}, call.answer)


def unsubscribe(_services: Services, call: Call, asked: params.Unsubscribe) -> Result:
    """End a subscription; pushes that are queued for it still come."""
    call.peer.subscriptions.end(asked.sub)
    return {}


def draft(_services: Services, call: Call, _agent: Agent, asked: params.Draft) -> Job:
    """Show the draft to the other subscribers."""

    def look(state: State) -> Result:
        call.peer.draft(state.profile, asked.text)
        return {}

    return Read(look, call.answer)


class _Waiter:
    """A subscriber that only notes that something happened."""

    connection: int | None = None
    draws = False

    def __init__(self, bus: EventBus, row: int) -> None:
        self._bus = bus
        self._row = row
        self.happened = Signal()

    def __enter__(self) -> Self:
        self._bus.subscribe(self, self._row)
        return self

    def __exit__(self, *_: object) -> None:
        self._bus.unsubscribe(self, self._row)

    def on_event(self, _event: CommittedEvent) -> None:
        """Wake the one who waits."""
        self.happened.set()

    def on_elsewhere(self) -> None:
        """Wake the one who waits."""
        self.happened.set()

    def on_reset(self, _whose: Whose) -> None:
        """Do nothing: a wait is for events alone."""

    def on_loss(self, _lost: Iterable[Whose]) -> None:
        """Wake the one who waits: the agent may be gone."""
        self.happened.set()

    def on_draft(self, _whose: Whose, _writer: Typist, _text: str) -> None:
        """Do nothing: a wait is for events alone."""


def wait(services: Services, _call: Call, agent: Agent, asked: params.Wait) -> Detached:
    """Answer as soon as the agent has an event after a seq."""

    async def run() -> Result:
        with _Waiter(services.registry.bus, agent.row) as waiter:
            events, head = await _events_after(services, agent, asked.since, asked.kinds)
            with anyio.move_on_after(asked.timeout / 1000):
                while not events.items:
                    await waiter.happened.wait()
                    events, head = await _events_after(services, agent, max(asked.since, head), asked.kinds)
        return {"head": head, "events": events}

    return Detached(run)


async def _events_after(
    services: Services, agent: Agent, since: int, kinds: list[str] | None
) -> tuple[PackedList, int]:
    """Return the events after a seq, and up to which seq these are all: the head, or the last of a full page."""
    head = (await profile_of(services, agent)).head
    if head <= since:
        return PackedList([]), head
    page = await services.store.read_long(
        history.history, agent.row, head, params.History(since=since, kinds=kinds), packer()
    )
    return PackedList(page.items), unpack(page.items[-1])["seq"] if page.more else head
