"""What one connection has in flight, and whether there is room for more.

What is taken of the calls in flight is always a prefix: once one of them is refused, all that come after it are,
until none is in flight any more.
"""

from reeld.serving.call import Call, Limits
from reeld.serving.load import Load


class Admission:
    """The calls of a connection that have been taken on and not been answered.

    Args:
        load: what all connections have in flight.
        limits: what one may have, and all of them together.
    """

    def __init__(self, load: Load, limits: Limits) -> None:
        self.requests = 0
        # Something that was taken on could not be done for want of room: what came after it is refused, too.
        self.overtaxed = False
        self._bytes = 0
        self._refusing = False
        self._load = load
        self._limits = limits

    def allows(self, call: Call) -> bool:
        """Tell whether a call may be taken on."""
        limits, load = self._limits, self._load
        if not self.requests:
            self._refusing = self.overtaxed = False
        self._refusing = (
            self._refusing
            or self.overtaxed
            or self.requests >= limits.requests
            or (self.requests > 0 and self._bytes + call.size > limits.bytes)
            or (load.requests > 0 and load.bytes + call.size > limits.all_bytes)
        )
        return not self._refusing

    def take(self, call: Call) -> None:
        """Reserve what a call needs."""
        self._change(1, call.size)

    def release(self, call: Call) -> None:
        """Give back what a call has reserved."""
        self._change(-1, -call.size)

    def give_up(self) -> None:
        """Give back what the calls that nobody waits for any more have reserved."""
        self._change(-self.requests, -self._bytes)

    def _change(self, requests: int, size: int) -> None:
        self.requests += requests
        self._bytes += size
        self._load.requests += requests
        self._load.bytes += size
