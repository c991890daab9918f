"""Messages and records that one command adds."""

from msgpack import packb

from reel import replies
from reel.base.strict_json import Json
from reel.requests import Call
from reel.requests.calls import call, reply_reader

# The maximum of messages and bytes in one command.
_MOST = 500
_BYTES = 1 << 20
_ADDED = reply_reader(replies.Added)


class Batch:
    """What is added at one place, one after the other.

    Args:
        head: the newest event before it.
        replaced: the seq of the message that the first one replaces, with all after it; ``None`` for the end.
    """

    def __init__(self, head: int, replaced: int | None) -> None:
        self.head = head
        self._replaced = replaced
        self._elements: list[Json] = []
        self._size = 0

    def __len__(self) -> int:
        return len(self._elements)

    @property
    def messages(self) -> int:
        """How many of the elements are messages."""
        return sum("role" in element for element in self._elements)

    def take(self, element: Json, *, is_prompt: bool) -> bool:
        """Add an element, and return whether it has a place here; a prompt begins another turn, and so a command."""
        # Packed to be counted, and again with the request. Counting the texts in Python takes longer.
        size = len(packb(element, unicode_errors="surrogatepass"))
        is_full = self._size + size > _BYTES or len(self) >= _MOST
        if self._elements and (is_full or (is_prompt and self.messages)):
            return False
        self._elements.append(element)
        self._size += size
        return True

    def call(self, agent: str) -> Call[replies.Added]:
        """Return the command."""
        given = {"agent": agent, "messages": self._elements, "from": self._replaced, "if_seq": self.head}
        return call("add", _ADDED, given, writes=True)
