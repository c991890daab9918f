"""What one connection has subscribed to: made, begun, told what it missed, and ended."""

import logging
from collections.abc import Callable
from itertools import count

from anyio.abc import TaskGroup

from reel.errors import Busy, NotFound
from reeld.agents.event_bus import Hub
from reeld.serving.subscription import Outlet, Subscription
from reeld.store.store import Store

log = logging.getLogger(__name__)


class Subscriptions:
    """The subscriptions of a connection, by their numbers.

    Args:
        outlet: the connection.
        hub: where news comes from.
        store: where those that catch up read.
        most: how many there may be.
        tasks: gives where tasks can be started, while there is somebody to talk to.
    """

    def __init__(
        self, outlet: Outlet, hub: Hub, store: Store, most: int, tasks: Callable[[], TaskGroup | None]
    ) -> None:
        self._outlet = outlet
        self._hub = hub
        self._store = store
        self._most = most
        self._tasks = tasks
        self._begun: dict[int, Subscription] = {}
        self._numbers = count(1)

    def __bool__(self) -> bool:
        return bool(self._begun)

    def make(self, row: int | None, view: str, kinds: frozenset[str] | None) -> Subscription:
        """Make a subscription, which has not begun.

        Raises:
            Busy: there are too many.
        """
        if len(self._begun) >= self._most:
            raise Busy("this connection has too many subscriptions; end some of them, or open another connection")
        return Subscription(next(self._numbers), self._outlet, self._hub, row, view, kinds)

    def begin(self, subscription: Subscription, place: int, *, live: bool) -> None:
        """Let a subscription begin, when the peer has been told of it."""
        if (tasks := self._tasks()) is None:
            return
        self._begun[subscription.number] = subscription
        subscription.begin(place, live=live)
        if not live:
            tasks.start_soon(self._catch_up, subscription)

    async def _catch_up(self, subscription: Subscription) -> None:
        try:
            await subscription.catch_up(self._store)
        except Exception:
            log.exception("connection=%d subscription=%d cannot catch up", self._outlet.number, subscription.number)
            subscription.break_off()
            self.settle()

    def settle(self) -> None:
        """Tell those that missed something so, now that there is room; they are over then."""
        for number, subscription in list(self._begun.items()):
            if subscription.settle():
                self._begun.pop(number, None)  # being told may have been too much for the whole connection

    def end(self, number: int) -> None:
        """End a subscription.

        Raises:
            NotFound: there is none of this number.
        """
        subscription = self._begun.pop(number, None)
        if subscription is None:
            raise NotFound(f"sub: this connection has no subscription {number}", field="sub")
        subscription.end()

    def end_all(self) -> None:
        """End every subscription."""
        for subscription in self._begun.values():
            subscription.end()
        self._begun.clear()
