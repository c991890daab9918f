"""A request that has been sent, and whose reply an event loop awaits instead of a thread."""

from __future__ import annotations

from reel.base.errors import ShuttingDown
from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from reel.requests import Call
    from reel.sync.connection import Connection


class Exchange:
    """One request on a connection that has no other; see :meth:`reel.Client.begin`.

    Args:
        connection: the connection.
        call: the request; a command has a key.
        end: called once it is over.

    Raises:
        OSError: it could not be sent at once, and as a whole. The connection is closed.
        ReelError: it cannot be sent at all.
    """

    def __init__(self, connection: Connection, call: Call[Any], end: Callable[[], object]) -> None:
        connection.post(call)
        self._connection = connection
        self._call = call
        self._end = end
        self.is_over = False
        # Whether the connection was lost: the request has to be sent again.
        self.is_lost = False
        # Whether the daemon refused it, or its reply is none.
        self.is_refused = False
        # What the daemon answered.
        self.result: Any = None

    def fileno(self) -> int:
        """Return the descriptor that can be read when the reply arrives."""
        return self._connection.fileno()

    def read(self) -> bool:
        """Read what has arrived, without waiting; return whether it is over."""
        try:
            found = self._connection.answered()
            if found is None:
                return False
            self.result = self._call.read(found)
        except (OSError, EOFError, ShuttingDown):
            self.give_up()
        except Exception:
            self.is_refused = True
        self._finish()
        return True

    def give_up(self) -> None:
        """Close the connection; the daemon may have carried it out or not."""
        self._connection.close()
        self.is_lost = True
        self._finish()

    def _finish(self) -> None:
        if not self.is_over:
            self.is_over = True
            self._end()
