"""Where clients wait between two actions: for their pace, and while something is measured."""

from threading import Condition

from tests.patience import PATIENCE


class Gate:
    """Lets clients pass, stops them all at once, and ends them.

    Args:
        clients: how many pass it.
    """

    def __init__(self, clients: int) -> None:
        self._clients = clients
        self._changed = Condition()
        self._stopped = 0
        self._is_closed = False
        self._is_over = False

    def wait(self, pace: float) -> bool:
        """Wait for so many seconds, and for as long as the gate is closed; return whether to go on."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._is_over, pace)
            self._stopped += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_over or not self._is_closed)
            self._stopped -= 1
            return not self._is_over

    def close(self) -> None:
        """Close the gate, and wait until every client stands before it."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: self._stopped == self._clients, PATIENCE), "a client hangs"

    def open(self) -> None:
        """Let the clients go on."""
        with self._changed:
            self._is_closed = False
            self._changed.notify_all()

    def end(self) -> None:
        """End the clients at their next action."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
