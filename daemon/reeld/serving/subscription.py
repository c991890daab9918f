"""A subscription: what one connection wants to hear, and how far it has heard it.

It begins live, or by catching up with what the log has later than a place that the peer names. While it
catches up it reads the log as fast as the peer reads the pushes; news that comes in the meantime is only noted,
since it stands in the log as well. Once the log has nothing more it is live: no event is missed, none comes twice.

A live one whose peer does not read is *late*: what there is no room for is dropped, and as soon as there is
room again the peer is told from where to where. Then it is over, and the peer subscribes again.
"""

from typing import Any, Protocol

import anyio

from reel.frames import Framing, SharedPush
from reel.kinds import CONVERSATION
from reel.msgpack_codec import packer
from reeld.agents.event_bus import Hub, News
from reeld.core.state import Profile
from reeld.serving.catch_up import Rerun
from reeld.serving.pages import ROW
from reeld.store.store import Store

# Events, and bytes of their texts, that are read from the log at a time.
_PAGE = 256
_PAGE_BYTES = 1 << 20

_pack = packer()


class Outlet(Protocol):
    """Where pushes go."""

    number: int

    @property
    def framing(self) -> Framing:
        """How the peer speaks."""

    def push(self, data: bytes) -> bool:
        """Queue a push; tell whether there was room for it."""

    def push_soon(self, key: object, data: bytes) -> None:
        """Queue a push as soon as there is room; of those with one key, the newest."""

    async def room(self) -> None:
        """Wait until something of what was queued has been sent."""


class Subscription:
    """What a connection has subscribed to.

    Args:
        number: the peer's name for it.
        outlet: the connection.
        hub: where news comes from.
        row: the agent; ``None``: all, and places are then ids, not seqs.
        view: ``messages``, ``conversation`` or ``none``.
        kinds: only events of these; ``None``: of all.
    """

    def __init__(
        self, number: int, outlet: Outlet, hub: Hub, row: int | None, view: str, kinds: frozenset[str] | None
    ) -> None:
        self.number = number
        self.connection: int | None = outlet.number
        # Ends what runs in its name.
        self.scope = anyio.CancelScope()
        self._outlet = outlet
        self._hub = hub
        self._row = row
        self._kinds = kinds
        self._view = view
        self._place = 0
        self._live = False
        self._behind = False
        # The first and the last place that there was no room for.
        self._missed: tuple[int, int] | None = None

    def begin(self, place: int, *, live: bool) -> None:
        """Hear of what comes after a place: of what is published, or first of what the log has."""
        self._place = place
        self._live = live
        self._hub.join(self, self._row)

    def end(self) -> None:
        """Hear no more."""
        self._hub.leave(self, self._row)
        self.scope.cancel()

    async def catch_up(self, store: Store) -> None:
        """Tell what the log has, at the pace of the peer, and go live."""
        with self.scope:
            rerun = Rerun(store, counted=self._counted)
            while not self._live:
                self._behind = False
                page = await store.after(self._row, self._place, _PAGE, _PAGE_BYTES)
                for logged in page:
                    await self._tell_again(await rerun.news(logged))
                self._live = not page and not self._behind

    async def _tell_again(self, news: News) -> None:
        self._place = self._place_of(news)
        if self._wants(news):
            data = self._encode(news)
            while not self._outlet.push(data):
                await self._outlet.room()

    @property
    def _counted(self) -> bool:
        """Whether the peer keeps a copy, and so is told how much of it stands."""
        return self._kinds is None and self._view != "none"

    def hear(self, news: News) -> None:
        """Take the news of a committed event."""
        if not self._live:
            self._behind = True
            return
        place = self._place_of(news)
        if place <= self._place:
            return
        self._place = place
        if not self._wants(news):
            return
        if self._missed is not None:
            self._missed = (self._missed[0], place)
        elif not self._outlet.push(self._encode(news)):
            self._missed = (place, place)

    def settle(self) -> bool:
        """Say what was missed, now that there is room; tell whether the subscription is over."""
        if self._missed is None:
            return False
        first, last = self._missed
        lagged = {"sub": self.number, "from": first, "to": last}
        if not self._outlet.push(self._outlet.framing.notify("lagged", lagged)):
            return False
        self.end()
        return True

    def break_off(self) -> None:
        """End what cannot catch up: what the log has from here on was missed."""
        self._live, self._missed = True, (self._place + 1, self._place + 1)

    def forget(self, profile: Profile) -> None:
        """Note that the living state was not what the log says, and has been replaced."""
        data = self._outlet.framing.notify("reset", {"agent": profile.uid})
        self._outlet.push_soon(("reset", profile.row), data)

    def glimpse(self, profile: Profile, writer: int, text: str) -> None:
        """See what another connection, ``writer``, is writing; an empty text: it is no longer."""
        draft = {"agent": profile.uid, "connection": writer, "text": text}
        self._outlet.push_soon(("draft", profile.row, writer), self._outlet.framing.notify("draft", draft))

    def _place_of(self, news: News) -> int:
        return news.event_id if self._row is None else news.draft.seq

    def _wants(self, news: News) -> bool:
        return self._kinds is None or news.draft.kind in self._kinds

    def _encode(self, news: News) -> bytes:
        wanted = (self._view, self._counted)
        shared = news.shown.get(wanted)
        if shared is None:
            shared = news.shown[wanted] = _show(news, *wanted)
        return self._outlet.framing.push("event", self.number, shared)


def _show(news: News, view: str, counted: bool) -> SharedPush:  # noqa: FBT001 - private, and called by position
    profile, draft = news.profile, news.draft
    fields: dict[str, Any] = {
        "agent": profile.uid,
        "name": profile.name,
        "id": news.event_id,
        "seq": draft.seq,
        "command": draft.command,
        "kind": draft.kind,
        "time": draft.time,
    }
    if counted:
        everything = view == "conversation"
        fields["keep"] = news.kept.records if everything else news.kept.messages
        fields["count"] = news.extent.records if everything else news.extent.messages
    packed: dict[str, bytes] = {}
    if view == "messages" and draft.message is not None:
        packed["message"] = draft.message
    elif view == "conversation" and draft.kind in CONVERSATION:
        packed["record"] = _pack({field: getattr(draft, field) for field in ROW})
    return SharedPush(fields, packed)
