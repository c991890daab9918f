"""How a connection talks back: each answer in its peer's framing, in the way and the order that the peer takes."""

import logging
from collections.abc import Callable

import anyio
from anyio.abc import TaskGroup

from reel.errors import Internal, MethodNotFound, ReelError
from reel.frames import Framing
from reel.session import MessagePack
from reeld.serving.call import Call, Result
from reeld.serving.greeting import Greeting, introduction
from reeld.serving.neovim import NewestFirst
from reeld.serving.outbox import Outbox

log = logging.getLogger(__name__)


class Answers:
    """What one connection is answered.

    Args:
        number: the connection's.
        outbox: where answers go.
        most: how many bytes of answers may be held back.
        give_up: called when more would be.
    """

    def __init__(self, number: int, outbox: Outbox, most: int, give_up: Callable[[], None]) -> None:
        self.framing: Framing = MessagePack()
        self._number = number
        self._outbox = outbox
        self._most = most
        self._give_up = give_up
        # For a peer that is particular about the order.
        self._ordered: NewestFirst | None = None
        self._sent = anyio.Event()

    @property
    def held(self) -> int:
        """How many bytes are held back."""
        return 0 if self._ordered is None else self._ordered.held

    def close(self) -> None:
        """Forget what is held back: nobody is at the other end."""
        self._ordered = None

    def note_sent(self) -> None:
        """Note that all that was queued at some moment has been sent."""
        self._sent.set()

    def greet(self, greeting: Greeting, tasks: TaskGroup | None) -> None:
        """Talk from now on as a peer wants it; what that takes runs in ``tasks``."""
        if greeting.notify is not None:
            self.framing.push_target = greeting.notify
        if not isinstance(self.framing, MessagePack):
            return
        if greeting.errors is not None:
            self.framing.error_maps = greeting.errors == "map"
        if greeting.is_neovim:
            self._outbox.post(introduction(self.framing))
        if greeting.wants_newest_first and self._ordered is None and tasks is not None:
            self._ordered = NewestFirst(self._outbox.post, self._flushed)
            tasks.start_soon(self._ordered.run)

    def expect(self, call: Call) -> None:
        """Note that the peer waits for what comes of a call."""
        if self._ordered is not None and call.number is not None:
            self._ordered.begin(call)

    def tell(self, call: Call, outcome: Result | ReelError) -> None:
        """Send what came of a call to whoever wants to know; an error that nobody is told is logged."""
        if call.number is None and call.token is None:
            if isinstance(outcome, ReelError):
                self._note_failure(call, outcome)
            return
        data = self._encode(call, outcome)
        if self._ordered is None or call not in self._ordered:
            self._outbox.post(data)
        elif self.held + len(data) <= self._most:
            self._ordered.reply(call, data)
        else:
            log.warning("connection=%d has %d bytes held back; closing it", self._number, self.held)
            self._give_up()

    def _note_failure(self, call: Call, error: ReelError) -> None:
        """Note what nobody waits for; the text of an error, and a method that there is not, may quote what was said."""
        known = not isinstance(error, MethodNotFound)
        log.warning("connection=%d notification=%s failed: %s", self._number, call.method if known else "?", error.name)
        log.debug("connection=%d notification=%r failed: %s", self._number, call.method, error)

    def tell_broken(self, error: ReelError) -> None:
        """Say that what came is no call."""
        self._outbox.post(self.framing.refuse(None, error))

    def _encode(self, call: Call, outcome: Result | ReelError) -> bytes:
        """Encode what came of a call; what cannot be is a bug, and nobody's but the caller's trouble."""
        try:
            return self._encoded(call, outcome)
        except Exception:
            log.exception("connection=%d cannot be told its answer", self._number)
            log.debug("connection=%d cannot be told %r", self._number, outcome)
            return self._encoded(call, Internal("the answer cannot be encoded; the daemon's log has it"))

    def _encoded(self, call: Call, outcome: Result | ReelError) -> bytes:
        if call.token is not None:
            return self.framing.reply(call.token, outcome)
        if isinstance(outcome, ReelError):
            return self.framing.refuse(call.number, outcome)
        assert call.number is not None, "nobody wants it"  # noqa: S101 - it was looked at before
        return self.framing.answer(call.number, outcome)

    async def _flushed(self) -> None:
        """Wait until every answer that was queued has been sent."""
        while not self._outbox.answered:
            self._sent = anyio.Event()
            await self._sent.wait()
