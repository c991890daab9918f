"""Replies: the outcome of each call, in the framing, form and order that the peer expects."""

import logging
from collections.abc import Callable, Sequence

from reel.base.errors import Internal, MethodNotFound, ReelError, no_memory
from reel.base.wakeup import Signal
from reel.wire.frames import Id
from reeld.serving import neovim
from reeld.serving.call import Call, ClientInfo, Outcome, Result
from reeld.serving.flow import ClientWarnings, do_nothing
from reeld.serving.outbox import Outbox
from reeld.wire.framing import Framing
from reeld.wire.msgpack_framing import ServerMessagePack

log = logging.getLogger(__name__)


class ReplyWriter:
    """Encodes and queues the replies of one connection.

    Args:
        number: the connection's.
        outbox: sends them.
        max_held: how many bytes of replies may be held back for the sake of their order.
        give_up: called if there would be more.
        warnings: logs protocol errors of the peer.
    """

    def __init__(
        self, number: int, outbox: Outbox, max_held: int, give_up: Callable[[], None], warnings: ClientWarnings
    ) -> None:
        self.framing: Framing = ServerMessagePack()
        self._number = number
        self._outbox = outbox
        self._max_held = max_held
        self._give_up = give_up
        self._warnings = warnings
        # Holds replies back if the peer needs them in a special order.
        self._lifo: neovim.LifoReplies | None = None
        self._sent = Signal()

    def order_is_free(self) -> bool:
        """Return whether the peer takes replies in any order."""
        return self._lifo is None

    @property
    def held(self) -> int:
        """How many bytes are held back."""
        return 0 if self._lifo is None else self._lifo.held

    def close(self) -> None:
        """Drop what is held back: the peer is gone."""
        self._lifo = None
        self._give_up = do_nothing

    def on_sent(self) -> None:
        """Take note that everything that was queued at some point has been sent."""
        if self._lifo is not None:
            self._sent.set()

    def introduce(self, info: ClientInfo, start_soon: Callable[..., bool]) -> None:
        """Adapt to what the peer says about itself.

        Args:
            info: what it says about itself.
            start_soon: starts a task that ends with the connection; returns whether it did.
        """
        if info.notify is not None:
            self.framing.push_target = info.notify
        if not isinstance(self.framing, ServerMessagePack):
            return
        if info.errors is not None:
            self.framing.error_maps = info.errors == "map"
        if info.short_messages is not None:
            self.framing.short_messages = info.short_messages
        if neovim.is_neovim(info.name):
            self._outbox.reply(neovim.set_client_info(self.framing))
        if neovim.needs_lifo_replies(info.name, info.version) and self._lifo is None:
            lifo = neovim.LifoReplies(self._outbox.reply, self._flushed)
            if start_soon(lifo.run):
                self._lifo = lifo

    def expect(self, call: Call) -> None:
        """Take note that the peer waits for the reply to a call."""
        if self._lifo is not None and call.number is not None:
            self._lifo.begin(call)

    def write(self, call: Call, outcome: Outcome) -> None:
        """Queue the reply to a call; an error of a call without a reply is logged."""
        if call.number is None and call.token is None:
            if isinstance(outcome, ReelError):
                self._log_error(call, outcome)
            return
        try:
            data = self._encode(call, outcome)
        except MemoryError:
            text = "connection=%d method=%s: there is not enough memory for the reply"
            self._warnings.warn(self._number, text, self._number, call.method)
            data = self._encode(call, no_memory())
        except Exception:  # a bug; it should harm its caller only
            log.exception("connection=%d method=%s has a reply that cannot be encoded", self._number, call.method)
            log.debug("connection=%d cannot be sent %r", self._number, outcome)
            data = self._encode(call, Internal("the reply cannot be encoded; the daemon's log has the reason"))
        if self._lifo is None or call not in self._lifo:
            self._outbox.reply(data)
        elif self.held + len(data) <= self._max_held:
            self._lifo.reply(call, data)
        else:
            text = "connection=%d has %d bytes held back; closing it"
            self._warnings.warn(self._number, text, self._number, self.held)
            self._give_up()

    def write_all(self, numbers: Sequence[Id], results: Sequence[Result | bytes]) -> None:
        """Queue several results together, if their order is free."""
        self._outbox.reply(b"".join(map(self.framing.answer, numbers, results)))

    def _log_error(self, call: Call, error: ReelError) -> None:
        # An error's text, and the name of an unknown method, may quote a message: they are logged for debugging only.
        method = "?" if isinstance(error, MethodNotFound) else call.method
        text = "connection=%d notification=%s failed: %s"
        self._warnings.warn(self._number, text, self._number, method, error.name)
        log.debug("connection=%d notification=%r failed: %s", self._number, call.method, error)

    def write_invalid_frame(self, error: ReelError) -> None:
        """Queue an error for a frame that is not a call."""
        self._outbox.reply(self.framing.refuse(None, error))

    def _encode(self, call: Call, outcome: Outcome) -> bytes:
        if call.token is not None:
            return self.framing.reply(call.token, outcome)
        if isinstance(outcome, ReelError):
            return self.framing.refuse(call.number, outcome)
        assert call.number is not None, "nobody wants it"  # noqa: S101 - write has looked
        return self.framing.answer(call.number, outcome)

    async def _flushed(self) -> None:
        """Wait until every queued reply has been sent."""
        while not self._outbox.all_replies_sent:
            await self._sent.wait()
