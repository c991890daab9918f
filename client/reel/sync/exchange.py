"""A request that has been sent, and whose reply an event loop can await without a thread."""

from __future__ import annotations

from reel.base.errors import ShuttingDown, Timeout
from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from reel.requests import Call
    from reel.sync.connection import Connection, Deadline


class Exchange:
    """One request on a connection that has no other; see :meth:`reel.Client.begin`.

    Args:
        connection: the connection.
        call: the request; a command that may be sent again has a key.
        deadline: until when it has to be answered.
        end: called once it is over.

    Raises:
        OSError: the connection was lost.
        ReelError: the request cannot be sent at all.
    """

    def __init__(self, connection: Connection, call: Call[Any], deadline: Deadline, end: Callable[[], object]) -> None:
        # Whether all of it was sent. If not, only ``wait`` gets a reply.
        self.is_sent = connection.post(call)
        self.deadline = deadline
        self._connection = connection
        self._call = call
        self._end = end
        self.is_over = False
        # Whether there is a result. If not, the connection was lost, or the daemon refused the request: who needs it
        # sends it again, under its key.
        self.is_answered = False
        # What the daemon answered.
        self.result: Any = None

    def fileno(self) -> int:
        """Return the descriptor that can be read when the reply arrives."""
        return self._connection.fileno()

    def read(self) -> bool:
        """Read what has arrived, without waiting; return whether the exchange is over."""
        if not self.is_over:
            self._read(self._connection.answer_at_once)
        return self.is_over

    def wait(self) -> None:
        """Wait until the exchange is over.

        Raises:
            Timeout: it took too long; the request may still be carried out.
        """
        if not self.is_over:
            self._read(lambda: self._connection.answer(self.deadline))

    def abandon(self) -> None:
        """End it without a reply, which closes the connection; a request that was sent whole is still carried out."""
        if not self.is_over:
            self._connection.close()
            self._finish()

    def _read(self, answer: Callable[[], dict[str, Any] | None]) -> None:
        try:
            found = answer()
            if found is None:
                return
            self.result = self._call.read(found)
            self.is_answered = True
        except TimeoutError:
            self._finish()
            seconds = self.deadline.seconds
            late = f"{self._call.method} took longer than {seconds:g} s; it may still be carried out"
            raise Timeout(late, seconds=seconds) from None
        except ShuttingDown:
            self._connection.close()
        except Exception:  # noqa: S110 - a request that is sent again raises it then
            pass
        self._finish()

    def _finish(self) -> None:
        self.is_over = True
        self._end()
