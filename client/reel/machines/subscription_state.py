"""A subscription without any I/O: bytes in, pushes out, and where to continue after the connection was lost.

Theory of operation. A subscription has a connection of its own. Connect, send what ``open`` returns, and pass what
arrives to ``feed``. When the connection is lost, or the subscription is ``over``, connect and ``open`` again. It
continues after the last event that it returned, so that each event comes once and in order.
"""

from __future__ import annotations

from reel.base.errors import ParseError, from_wire
from reel.base.light_typing import TYPE_CHECKING
from reel.replies import Subscribed
from reel.requests import Call, greeting
from reel.wire.frames import MAX_REPLY, Frame, InvalidFrame, Notification, Response
from reel.wire.pushes import DraftPush, EventPush, Push, ResetPush, read_push
from reel.wire.session import MessagePack

if TYPE_CHECKING:
    from typing import Any

_HELLO, _SUBSCRIBE = 0, 1


class SubscriptionState:
    """The state of a subscription.

    Args:
        call: the request that subscribes.
        name: the name of this client.
    """

    def __init__(self, call: Call[Subscribed], name: str) -> None:
        # The newest seq when the subscription began, or the newest event id if all agents are followed.
        self.head: int | None = None
        # Whether the daemon has accepted the subscription on this connection.
        self.has_begun = False
        # Whether nothing more will come on this connection.
        self.over = False
        # Whether it ended without any push. Beginning again at once could loop forever.
        self.stuck = False
        self._call = call
        self._name = name
        self._framing = MessagePack(MAX_REPLY)
        # The position up to which everything was received, and the last event by its position and time.
        self._heard = 0
        self._last: tuple[int, int] | None = None
        # Whether the daemon checks that its log still has that event.
        self._checks = False
        # Whether an event came on this connection.
        self._moved = False
        # The drafts that are shown, by agent and connection: they are gone when our connection is lost.
        self._drafts: dict[tuple[str, int], None] = {}

    def __repr__(self) -> str:
        since = self._call.params.get("since")
        return f"{self._call.params.get('agent', 'all agents')}{'' if since is None else f' after #{since}'}"

    def open(self) -> bytes:
        """Begin on a new connection; return the bytes to send."""
        self._framing = MessagePack(MAX_REPLY)
        self.has_begun = self.over = self.stuck = self._moved = False
        hello, params = greeting(self._name), self._call.params
        if self._checks and self._last is not None and params.get("since") == self._last[0]:
            params = {**params, "time": self._last[1]}
        return self._framing.request(_HELLO, hello.method, [hello.params]) + self._framing.request(
            _SUBSCRIBE, self._call.method, [params]
        )

    def feed(self, data: bytes) -> list[Push]:
        """Take received bytes; return the pushes that they complete.

        Raises:
            ReelError: the daemon refused the subscription.
            ParseError: the bytes are not a reply.
        """
        return [push for frame in self._framing.feed(data) for push in self._take(frame)]

    def _take(self, frame: Frame) -> list[Push]:
        if isinstance(frame, InvalidFrame):
            raise ParseError(f"what the daemon sent is not a reply: {frame.error.message}")
        if isinstance(frame, Response):
            return self._begin(frame)
        if isinstance(frame, Notification) and not self.over:
            return self._hear(frame.method, frame.params[0])
        return []

    def _begin(self, answer: Response) -> list[Push]:
        if answer.error is not None:
            raise from_wire(answer.error)
        if answer.id == _HELLO:
            self._checks = "remembered" in answer.result.get("features", ())
            return []
        reply = self._call.read(answer.result)
        self.head, self.has_begun = reply.head, True
        # A log never becomes shorter, so the database must have been replaced by a backup.
        older = reply.head < self._heard
        if reply.agent is not None:  # by its id, whichever agent has the name when we reconnect
            self._go_on(agent=reply.agent)
        if older or "since" not in self._call.params:
            self._go_on(since=reply.head)
        self._heard = min(self._call.params["since"], reply.head)
        news: list[Push] = [DraftPush(agent, connection, "") for agent, connection in self._drafts]
        self._drafts.clear()
        if older:
            self.over = True  # from the old position, nothing would arrive until the log is as long as the old one was
            news.append(ResetPush(reply.agent))
        return news

    def _hear(self, method: str, params: dict[str, Any]) -> list[Push]:
        push = read_push(method, params)
        if isinstance(push, EventPush):
            self._moved = True
            self._heard = push.seq if "agent" in self._call.params else push.id
            self._last = self._heard, push.time
            self._go_on(since=self._heard)
        elif isinstance(push, DraftPush):
            self._note(push)
        elif method == "lagged":
            self._go_on(since=params["from"] - 1)
            self.over, self.stuck = True, not self._moved
        elif method == "bye":
            self.over = True
        return [] if push is None else [push]

    def _note(self, draft: DraftPush) -> None:
        key = (draft.agent, draft.connection)
        if draft.text:
            self._drafts[key] = None
        else:
            self._drafts.pop(key, None)

    def _go_on(self, **params: Any) -> None:
        self._call = self._call._replace(params={**self._call.params, **params})
