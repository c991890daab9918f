"""The handlers for those who follow a conversation as it happens: subscribe, wait, draft."""

from typing import Self

import anyio

from reel.errors import ReelError
from reel.frames import PackedList
from reel.msgpack_codec import unpack
from reeld.agents.agent import Agent
from reeld.agents.event_bus import Hub, News
from reeld.agents.mail import Look, Mail
from reeld.core.state import Profile, State
from reeld.serving.call import Aside, Call, Desk, Result, Work
from reeld.serving.pages import PAGE_BYTES, PAGE_ITEMS

# How long a wait lasts where nothing is said of it, and how long at most, in milliseconds.
WAIT = 30_000
MAX_WAIT = 3_600_000


def subscribe(
    desk: Desk, call: Call, agent: str | None, since: int | None, view: str | None, kinds: list[str] | None
) -> Work:
    """Push what happens to an agent, or to all, from now on or from a place of the log."""
    wanted = (view or "messages", None if kinds is None else frozenset(kinds))

    def begin(row: int | None, head: int, **more: str) -> None:
        """Answer, and only then let the first event come."""
        subscription = call.peer.subscriptions.make(row, *wanted)
        call.answer({"sub": subscription.number, "head": head, **more})
        place = head if since is None else since
        call.peer.subscriptions.begin(subscription, place, live=place >= head)
        desk.drafts.show_to(subscription, row)

    async def later() -> None:
        if agent is None:
            begin(None, desk.registry.hub.newest)
            return
        found = await desk.registry.find(agent)
        look = Look(lambda state: begin(state.profile.row, state.profile.head, agent=state.profile.uid), refuse)
        found.post(look)
        desk.registry.posted(found)

    def refuse(outcome: ReelError | None) -> None:
        if outcome is not None:
            call.answer(outcome)

    return later


def unsubscribe(_desk: Desk, call: Call, sub: int) -> Result:
    """End a subscription; what has been queued for it still comes."""
    call.peer.subscriptions.end(sub)
    return {}


def draft(_desk: Desk, call: Call, _agent: Agent, text: str) -> Mail:
    """Show the others what is being written."""

    def look(state: State) -> Result:
        call.peer.draft(state.profile, text)
        return {}

    return Look(look, call.answer)


class _Bell:
    """A follower that only notes that something happened."""

    connection: int | None = None

    def __init__(self, hub: Hub, row: int) -> None:
        self._hub = hub
        self._row = row
        self.rung = anyio.Event()

    def __enter__(self) -> Self:
        self._hub.join(self, self._row)
        return self

    def __exit__(self, *_: object) -> None:
        self._hub.leave(self, self._row)

    def hear(self, _news: News) -> None:
        """Ring."""
        self.rung.set()

    def forget(self, _profile: Profile) -> None:
        """Nothing has been written."""

    def glimpse(self, _profile: Profile, _writer: int, _text: str) -> None:
        """Nothing has been written."""


def wait(desk: Desk, _call: Call, agent: Agent, since: int, kinds: list[str] | None, timeout: int | None) -> Aside:
    """Answer as soon as there is something later than a seq."""

    async def run() -> Result:
        with _Bell(desk.registry.hub, agent.row) as bell:
            events, head = await _later_than(desk, agent, since, kinds)
            with anyio.move_on_after((WAIT if timeout is None else timeout) / 1000):
                while not events.items:
                    await bell.rung.wait()
                    bell.rung = anyio.Event()  # before the log is read, so that nothing is missed
                    events, head = await _later_than(desk, agent, max(since, head), kinds)
        return {"head": head, "events": events}

    return Aside(run)


async def _later_than(desk: Desk, agent: Agent, since: int, kinds: list[str] | None) -> tuple[PackedList, int]:
    """Read what is later than a seq, and up to where that is all there is: the head, or the last of a full page."""
    head: int = await desk.registry.ask(agent, lambda answer: Look(lambda state: state.profile.head, answer))
    if head <= since:
        return PackedList([]), head
    page = await desk.store.history(
        agent.row,
        since=since,
        head=head,
        limit=PAGE_ITEMS,
        kinds=kinds,
        inherited=False,
        max_bytes=PAGE_BYTES,
    )
    return PackedList(page.events), unpack(page.events[-1])["seq"] if page.more else head
