"""Sessions of OpenAI's Agents SDK: the conversation is an agent of the daemon. docs/frameworks.md has an example."""

from __future__ import annotations

from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from agents.memory.session_settings import SessionSettings, coerce_session_settings

from reel import requests
from reel.base.errors import Conflict, Killed, NotFound
from reel.base.light_typing import NamedTuple
from reel.base.strict_json import parse
from reel.integrations.item_copy import ItemCopy, Stamp
from reel.integrations.naming import named
from reel.integrations.openai_agents.compaction import Read, Snapshot
from reel.integrations.openai_agents.order import arranged, between, readable
from reel.integrations.worker import Worker
from reel.replies import AddedItems, Hello
from reel.said.messages import Item
from reel.sync.client import Client

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from reel.requests import Call

_FORMAT: Final = "openai-responses"
# The name under which events are stored.
_NAME: Final = "openai-agents"
# How many of the newest messages are read to pop an item: a caller that pops one item often pops more.
_AHEAD: Final = 8
# The maximum number of messages on a page, and so the maximum of ``last``.
_PAGE = 10_000


class _Newest(NamedTuple):
    """The newest items of an agent, with its id and its head, and what the daemon that has them said of itself."""

    server: Hello | None
    agent: str
    head: int
    items: Callable[[], list[Item]]


def _found(text: str, added: AddedItems) -> list[Item]:
    """Return added items in the form in which they would be read."""
    return [Item(seq=seq, time=added.time, item=item) for seq, item in zip(added.seqs, parse(text), strict=True)]


def _own(client: Client, agent: str, stamps: Collection[Stamp]) -> set[Stamp]:
    """Return the stamps of the messages that the SDK added, among some.

    One read of the stretch that they are in, however many they are. What a clone into the agent brought is not in its
    history, and came from others.
    """
    own: set[Stamp] = set()
    if stamps:
        first, last = min(stamps)[0], max(stamps)[0]
        for page in client.pages(requests.history(agent, since=first - 1, limit=_PAGE, inherited=True)):
            own |= {(event["seq"], event["time"]) for event in page.events if event["client"] == _NAME}
            if not page.events or page.events[-1]["seq"] >= last:
                break
    return own.intersection(stamps)


class ReelSession:
    """A session of OpenAI's Agents SDK, for ``Runner.run(…, session=ReelSession("demo"))``.

    It can be used from several event loops, threads and processes. If the daemon is restarted, a call waits for it, and
    is carried out once. A killed agent can be read; writing to it raises :class:`reel.Killed`.

    Args:
        session_id: the id of the session, any text; :func:`reel.integrations.naming.named` derives the name from it.
        socket: the socket of the daemon. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        prefix: the prefix of the agent's name.
        session_settings: settings of the SDK, such as how many items are read by default.

    Raises:
        InvalidParams: the id is not a string, or the prefix is not valid in a name.
        TypeError: there is no such setting.
    """

    def __init__(
        self,
        session_id: str,
        *,
        socket: str | None = None,
        autostart: bool = False,
        prefix: str = "",
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = coerce_session_settings(session_settings or {})
        self.agent, self._tags = named(prefix, session_id)
        self._copy = ItemCopy(self.agent, _FORMAT)
        # The items left to pop, unless another client has written since.
        self._newest: _Newest | None = None
        # For messages between a call and its result in the last read, by agent and stamp: whether another client added
        # them. Others are forgotten, so that a session that lives long does not keep what was cleared or popped.
        self._is_added: dict[tuple[str, Stamp], bool] = {}
        self._worker = Worker(socket, autostart=autostart, name=_NAME)
        # The agent and its head when the SDK read what it summarizes now; each task has its own.
        self._summarized: ContextVar[tuple[str, int] | None] = ContextVar("summarized", default=None)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the items, the oldest first.

        Args:
            limit: only this many of the newest items. Default: that of the settings, else all items. 0 returns
                none; a negative limit returns all, as in the SDK.
        """
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        known = await self._worker.at_once(lambda client: self._known(client, limit))
        if known is not None:
            return known
        return await self._worker.run(lambda client: self._read(client, limit))

    async def add_items(self, items: list[Any]) -> None:
        """Add items, all or none.

        Args:
            items: input items of Responses.

        Raises:
            InvalidMessage: one of them is not an object, or JSON cannot represent it; nothing was added.
            Killed: the agent was killed; ``reel revive`` brings it back.
        """
        if not items:
            return
        adding = requests.add_items(self.agent, items, _FORMAT)
        text, is_short = adding.params["items"], len(items) <= _AHEAD

        def note(client: Client, added: AddedItems) -> None:
            self._copy.note(text, added)
            # Popping newly added items, as after a failed run, needs no read.
            newest = _Newest(client.server, added.agent, added.head, partial(_found, text, added))
            self._newest = newest if is_short else None

        def add(client: Client, adding: Call[AddedItems]) -> None:
            self._newest = None
            try:
                added = client.call(adding)
            except NotFound:
                # Not with `create` right away: that would start over under the name of a killed agent.
                added = client.add_items(self.agent, items, _FORMAT, create=True, tags=self._tags or None)
            note(client, added)

        await self._worker.ask(adding, note, add)

    async def pop_item(self) -> Any | None:
        """Remove the newest item and return it, or return ``None`` if the session is empty. ``undo`` brings it back."""
        return await self._worker.run(self._pop)

    async def clear_session(self) -> None:
        """Remove all items. The log keeps them: ``undo`` brings them back."""
        await self._worker.run(self._clear)

    async def _get_compaction_snapshot(
        self, limit: int, *, prune_prefix: Callable[[Any], bool] | None = None
    ) -> Snapshot | None:
        """Return the newest items, which the SDK's compaction may replace; ``None`` if it has to read all of them.

        The name is the SDK's.

        Args:
            limit: the maximum number of items.
            prune_prefix: which of the oldest items are removed when the last ones are replaced.
        """
        if self._shows_others():
            return None
        read = await self._worker.run(self._read_whole)
        if read is None:
            return None
        older = max(len(read.items) - limit, 0)

        async def replace_suffix(start: int, output: list[Any]) -> bool:
            return await self._worker.run(lambda client: read.replace(client, older + start, output, prune_prefix))

        return Snapshot(read.items[older:], not older, replace_suffix)

    async def _read_compaction_items(self, limit: int | None) -> tuple[list[Any], bool]:
        """Return the items that a compaction summarizes, and whether these are all. The name is the SDK's.

        Args:
            limit: the maximum number of items; ``None`` for that of the settings.
        """
        # Before they are read: an item that comes in between is summarized, and stays as well.
        self._summarized.set(await self._worker.run(self._position))
        items = await self.get_items(limit)
        return items, limit is not None and len(items) < limit

    async def _atomic_replace_items(self, output: list[Any]) -> bool:
        """Replace what was read for a compaction; return whether it was done. The name is the SDK's.

        The SDK's own way is to clear the session and to add the summary, without what others have added meanwhile.

        Args:
            output: the summary.
        """
        seen = self._summarized.get()
        self._summarized.set(None)
        if seen is None or self._shows_others():
            return False
        uid, head = seen
        return await self._worker.run(lambda client: self._replace(client, uid, head, output))

    def _shows_others(self) -> bool:
        """Whether this is a subclass with items other than the stored ones."""
        return type(self).get_items is not ReelSession.get_items or type(self).add_items is not ReelSession.add_items

    def close(self) -> None:
        """Close the connection to the daemon; the next call opens another."""
        self._worker.close()

    def _known(self, client: Client, limit: int | None) -> list[Any] | None:
        """Return what :meth:`_read` does if nothing has to be asked for that; else ``None``."""
        if limit == 0:
            return []
        items = self._copy.read_at_once(client)
        if items is None:
            return None
        found = readable(items[_start(items, limit) :])
        return None if between(found) else found

    def _read(self, client: Client, limit: int | None) -> list[Any]:
        try:
            if limit == 0:
                return []
            if limit is not None and 0 < limit <= _PAGE:
                pages = [*client.pages(requests.items(self.agent, _FORMAT, last=limit))]
                newest = [found for page in pages for found in page.items][-limit:]
                if len(newest) == limit:  # a message may have no item, then older ones are needed
                    stamps = [(found["seq"], found["time"]) for found in newest]
                    return self._arranged(client, pages[0].agent, [found["item"] for found in newest], stamps)
            items = self._copy.read(client)
            start = _start(items, limit)
            uid, stamps = self._copy.stamps()
            return self._arranged(client, uid, items[start:], stamps[start:])
        except NotFound:
            return []

    def _read_whole(self, client: Client) -> Read | None:
        """Return all items, or ``None`` if their order differs from that of their messages."""
        try:
            items = self._copy.read(client)
        except NotFound:
            return Read("", 0, [], [])
        uid, stamps = self._copy.stamps()
        if self._arranged(client, uid, items, stamps) != items:
            return None
        return Read(uid, self._copy.head, items, [seq for seq, _ in stamps])

    def _position(self, client: Client) -> tuple[str, int] | None:
        try:
            page = client.items(self.agent, _FORMAT, last=1)
        except NotFound:
            return None
        return page.agent, page.head

    def _replace(self, client: Client, uid: str, head: int, output: list[Any]) -> bool:
        self._newest = None
        while True:
            items = self._copy.read(client)
            agent, stamps = self._copy.stamps()
            if agent != uid:
                return False
            if Read(uid, self._copy.head, items, [seq for seq, _ in stamps]).replace_until(client, head, output):
                return True

    def _arranged(self, client: Client, uid: str, items: list[Any], stamps: list[Stamp]) -> list[Any]:
        """Return items in an order that models accept: no foreign message is between a call and its result."""

        def added_of(places: list[int]) -> list[int]:
            known = {stamp: added for (agent, stamp), added in self._is_added.items() if agent == uid}
            asked = {stamps[place] for place in places} - known.keys()
            own = _own(client, uid, asked)
            known |= {stamp: stamp not in own for stamp in asked}
            self._is_added = {(uid, stamps[place]): known[stamps[place]] for place in places}
            return [place for place in places if known[stamps[place]]]

        return arranged(readable(items), added_of)

    def _pop(self, client: Client) -> Any | None:
        while True:
            newest, self._newest = self._newest, None  # if this fails, the next call reads them
            if newest is not None and not client.is_still(newest.server):
                newest = None
            try:
                _, uid, head, found = newest or self._look(client)
                items = found()
                if not items:
                    return None
                *before, last = items
                # A converted message may be several items; those before the newest are kept.
                kept = [found["item"] for found in before if found["seq"] == last["seq"]]
                added = client.add_items(uid, kept, _FORMAT, from_=last["seq"], if_seq=head)
            except NotFound:
                if newest is None:
                    return None
            except Conflict:
                pass  # another client wrote or popped in the meantime: read again
            except Killed:  # the name may have a new agent
                if newest is None:
                    raise
            else:
                if before and not kept:
                    self._newest = _Newest(client.server, uid, added.head, partial(list, before))
                return last["item"]

    def _look(self, client: Client) -> _Newest:
        """Return the items of the newest messages."""
        page = client.items(self.agent, _FORMAT, last=_AHEAD)
        if page.more:  # they do not fit on a page, which begins with the oldest
            page = client.items(self.agent, _FORMAT, last=1)
        items = page.items
        if not items:  # a message may have no item
            pages = client.pages(requests.items(self.agent, _FORMAT, at=page.head))
            items = [found for other in pages for found in other.items]
        return _Newest(client.server, page.agent, page.head, partial(list, items))

    def _clear(self, client: Client) -> None:
        self._newest = None
        try:
            client.clear(self.agent)
        except NotFound:
            return


def _start(items: list[Any], limit: int | None) -> int:
    """Return where the newest items begin, so many of them at most; those of no positive limit are all."""
    return max(len(items) - limit, 0) if limit is not None and limit > 0 else 0
