"""Where the subscriptions of a connection push to."""

from reeld.serving.outbox import Outbox
from reeld.serving.replies import ReplyWriter
from reeld.wire.framing import Framing


class PushQueue:
    """The destination of the pushes of a connection's subscriptions.

    It holds no reference to the connection, which refers to its subscriptions: a cycle would keep everything in memory
    until the garbage collector runs. For the same reason the other parts of a connection drop their callbacks when it
    ends.
    """

    def __init__(self, number: int, replies: ReplyWriter, outbox: Outbox) -> None:
        self.number = number
        self.push = outbox.push
        self.push_latest = outbox.push_latest
        self.wait_for_room = outbox.wait_for_room
        self._replies = replies

    @property
    def framing(self) -> Framing:
        """The framing that the peer speaks."""
        return self._replies.framing
