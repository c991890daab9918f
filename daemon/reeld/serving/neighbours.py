"""Messages between daemons that share a database: the drafts of their clients, and how many follow each agent.

Nothing of this is stored. Each daemon sends its changes, at most thirty times a second: of a growing text only the new
part, of followers their number. So each daemon has the state of all others, and shows it to its own clients like its
own. :mod:`reeld.serving.neighbour_messages` has the form of the messages; these are their kinds:

- ``hello``: a daemon that starts, or was disconnected, asks all others for everything; they forget what they knew of
  it.
- ``ask``: a daemon that got a message that does not fit its state asks all others for everything.
- ``all``: the complete state of the daemon follows.
- ``draft``: the text from an offset on, in one or more pieces, of which the last one is marked.
- ``followers``: how many connections follow some agents.
- ``alive``: the heartbeat of a daemon that has sent anything. If it stops, the daemon was killed, hangs or cannot be
  reached, and its drafts and followers are dropped.
- ``bye``: the daemon stops.

Unknown messages come from newer versions, and are ignored; :mod:`reeld.serving.neighbour_states` limits what the known
ones may say.
"""

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import anyio

from reel.base.errors import Busy, TooLarge
from reel.base.light_typing import NamedTuple
from reel.base.wakeup import Signal
from reeld.agents.event_bus import EventBus, Typist, Whose
from reeld.serving.drafts import MAX_DRAFT, Drafts
from reeld.serving.neighbour_messages import MOST, are_numbers, pieces, read, written
from reeld.serving.neighbour_states import DraftKey, Neighbour, States
from reeld.store.engine import Channel

# Seconds between two sends, and bytes per second beyond which sends become rarer.
_PACE = 1 / 30
_RATE = 2 << 20
# Seconds between two heartbeats, from the last one until a daemon counts as gone, and between two `ask`.
_BEAT, _GONE, _ASKING = 1.0, 5.0, 1.0
# Characters of a client's name, and agents in one message.
_NAME, _ROWS = 200, 200
# A connection at another daemon has a number that begins with that of the daemon. It is exact in JSON up to a million
# daemons.
_CONNECTIONS, _DAEMONS = 1 << 32, 1 << 20


class AgentElsewhere(NamedTuple):
    """The agent of a draft at another daemon."""

    row: int
    uid: str


class Neighbours:
    """The other daemons.

    Args:
        channel: sends texts to them.
        bus: knows who follows what here.
        drafts: those of this daemon's connections; those of others are shown with them.
    """

    def __init__(self, channel: Channel, bus: EventBus, drafts: Drafts) -> None:
        self._channel = channel
        self._bus = bus
        self._drafts = drafts
        self.states = States()
        # The drafts of this daemon, and what the others know of them.
        self._typed: dict[DraftKey, tuple[Typist, Whose, str]] = {}
        self._told: dict[DraftKey, str] = {}
        self._told_followers: dict[int, int] = {}
        # What has changed since the last send.
        self._changed: dict[DraftKey, tuple[Typist, Whose, str]] = {}
        self._changed_rows: set[int] = set()
        self._greets, self._asks, self._tells_all = True, False, False
        self._asked = self._spoke = -math.inf
        self._wake = Signal()
        drafts.share(self._on_typed)
        bus.share(self._on_followers, self._followers_elsewhere)
        channel.call(self._on_open, self.hear, self._ask)

    def __len__(self) -> int:
        return len(self.states)

    async def run(self) -> None:
        """Tell the others what changes, and forget those that are gone, until cancelled."""
        self._wake.set()
        try:
            while True:
                with anyio.move_on_after(_BEAT if self._is_watched or self._asks else None):
                    await self._wake.wait()
                self._forget_silent()
                messages = self._take()
                if messages:
                    await self._channel.send(messages)
                    await anyio.sleep(max(_PACE, sum(map(len, messages)) / _RATE))
        finally:
            with anyio.move_on_after(1, shield=True):
                await self._channel.send([self._message("bye")])

    @property
    def _is_watched(self) -> bool:
        """Whether other daemons expect heartbeats of this one, or this one expects theirs."""
        return self.states.have_something or bool(self._told or self._told_followers)

    # --- what happens here

    def _on_open(self, _: None) -> None:
        self._greets = True
        self._wake.set()

    def _on_typed(self, writer: Typist, whose: Whose, text: str) -> None:
        if writer.connection >= _CONNECTIONS:
            return  # it came from another daemon
        key = DraftKey(writer.connection, whose.row)
        self._changed[key] = typed = (writer, whose, text)
        if text:
            self._typed[key] = typed
        else:
            self._typed.pop(key, None)
        self._wake.set()

    def _on_followers(self, row: int) -> None:
        self._changed_rows.add(row)
        self._wake.set()

    # --- telling

    def _message(self, kind: str, *more: Any) -> str:
        return written(kind, self._channel.daemon, *more)

    def _take(self) -> list[str]:
        """Return the messages to send now."""
        now = anyio.current_time()
        messages = []
        if self._greets:
            messages.append(self._message("hello"))
            self._told.clear()
            self._told_followers.clear()
        elif self._asks and now >= self._asked + _ASKING:
            messages.append(self._message("ask"))
        if messages:
            self._asked, self._asks = now, False
        tells_all = self._greets or self._tells_all
        if tells_all:
            messages.append(self._message("all"))
            self._changed |= self._typed
            self._changed_rows |= set(self._bus.followed())
        self._greets = self._tells_all = False
        changed, self._changed = self._changed, {}
        for key, (writer, whose, text) in changed.items():
            messages += self._of_draft(key, writer, whose, text, again=tells_all)
        messages += self._of_followers(again=tells_all)
        if not messages and (self._told or self._told_followers) and now >= self._spoke + _BEAT:
            messages.append(self._message("alive"))
        if messages:
            self._spoke = now
        return messages

    def _of_draft(self, key: DraftKey, writer: Typist, whose: Whose, text: str, *, again: bool) -> Iterator[str]:
        """Yield the messages for a draft; from its beginning if everything is sent again."""
        before = self._told.pop(key, "")
        if text:
            self._told[key] = text
        if text == before and not (text and again):
            return
        place = len(before) if text.startswith(before) and not again else 0
        about = (*key, whose.uid, None if writer.client is None else writer.client[:_NAME])
        room = MOST - len(self._message("draft", *about, place, "", False).encode(errors="replace"))
        for piece in pieces(text[place:], room):
            yield self._message("draft", *about, place, piece, place + len(piece) == len(text))
            place += len(piece)

    def _of_followers(self, *, again: bool) -> Iterator[str]:
        """Yield the messages with the numbers of followers that have changed, or with all of them."""
        rows, self._changed_rows = self._changed_rows, set()
        news = []
        for row in rows:
            before, count = self._told_followers.pop(row, 0), len(self._bus.followers(row))
            if count:
                self._told_followers[row] = count
            if count != before or (count and again):
                news.append((row, count))
        for first in range(0, len(news), _ROWS):
            yield self._message("followers", news[first : first + _ROWS])

    # --- hearing

    def hear(self, text: str) -> None:
        """Take a message of another daemon, or one of our own."""
        message = read(text)
        if message is None or message.daemon == self._channel.daemon:
            return
        kind, daemon, more = message
        match kind:
            case "hello" | "ask":
                if kind == "hello":
                    self._forget(daemon)
                self._tells_all = True
                self._wake.set()
            case "bye":
                self._forget(daemon)
            case "all":
                self.states.meet(daemon, anyio.current_time())
            case _ if neighbour := self.states.get(daemon):
                neighbour.heard = anyio.current_time()
                if not neighbour.has_something:
                    self._wake.set()  # from now on its heartbeats are expected
                self._learn(daemon, neighbour, kind, more)
            case _:
                self._ask()

    def _learn(self, daemon: int, neighbour: Neighbour, kind: str, more: list[Any]) -> None:
        match kind, more:
            case "draft", [
                int(connection),
                int(row),
                str(uid),
                (str() | None) as client,
                int(place),
                str(piece),
                bool(end),
                *_,
            ] if (
                are_numbers(connection, row, place)
                and 0 <= connection < _CONNECTIONS
                and place + len(piece) <= MAX_DRAFT
            ):
                writer = Typist(_number(daemon, connection), client)
                self._learn_draft(neighbour, DraftKey(connection, row), writer, uid, (place, piece, end))
            case "followers", [[*news], *_]:
                for each in news:
                    match each:
                        case [int(row), int(count), *_] if are_numbers(row, count) and 0 <= count < _CONNECTIONS:
                            self.states.set_followers(neighbour, row, count)

    def _learn_draft(
        self, neighbour: Neighbour, key: DraftKey, writer: Typist, uid: str, news: tuple[int, str, bool]
    ) -> None:
        """Take a piece of a draft: where it begins, itself, and whether it is the last one."""
        place, piece, is_last = news
        before = neighbour.drafts.get(key, "")
        if place not in (0, len(before)):
            if not self.states.are_full:
                self._ask()
            return
        text = before[:place] + piece
        if self.states.set_draft(neighbour, key, text) and is_last:
            if not text:
                self.states.end_draft(neighbour, key)
            with suppress(Busy, TooLarge):  # there is no room to show it
                self._drafts.write(writer, AgentElsewhere(key.row, uid), text)

    def _ask(self, _: None = None) -> None:
        """Ask for everything, soon: something was missed."""
        self._asks = True
        self._wake.set()

    def _forget_silent(self) -> None:
        """Forget daemons whose heartbeats have stopped; those without any state send none."""
        for daemon in self.states.silent(anyio.current_time() - _GONE):
            self._forget(daemon)

    def _forget(self, daemon: int) -> None:
        for connection, row in self.states.forget(daemon):
            self._drafts.end(_number(daemon, connection), row)

    def _followers_elsewhere(self, row: int) -> int:
        return self.states.followers(row)


async def keep_in_touch(channel: Channel | None, bus: EventBus, drafts: Drafts) -> None:
    """Exchange drafts and followers with other daemons until cancelled, if the database can be shared."""
    if channel is not None:
        await Neighbours(channel, bus, drafts).run()


def _number(daemon: int, connection: int) -> int:
    """Return the number of a connection at another daemon."""
    return (daemon % _DAEMONS or _DAEMONS) * _CONNECTIONS + connection
