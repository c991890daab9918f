"""A stretch of an agent's log, which is sent as one command."""

from reel import replies, requests
from reel.base.errors import ProtocolMismatch
from reel.base.strict_json import Json, encode
from reel.base.values import fit_messagepack
from reel.requests import Call
from reel.wire.msgpack_codec import CANNOT_PACK, packed

# The maximum of events and bytes in one command: others wait while so many are written. With 500 events the median of
# another client's adds was twice what it is with 200, and the daemon took a tenth less time.
MOST = 250
BYTES = 512 << 10


def size_of(event: Json) -> int:
    """Return about how many bytes an event takes in a request."""
    # Packed to be counted, and again with the request. Counting the texts in Python takes longer.
    return len(packed(event))


def fitted(event: Json) -> tuple[Json, int]:
    """Return an event with numbers that MessagePack can represent, and its size."""
    try:
        return event, len(packed(event))
    except CANNOT_PACK:
        event, _ = fit_messagepack(event)
        return event, size_of(event)


def too_old() -> ProtocolMismatch:
    """Return the error for a daemon that does not know the command."""
    return ProtocolMismatch("the daemon is older than this reel, and does not know the command `append`")


class Stretch:
    """Events that follow each other in a log, and which of them are one command.

    Args:
        head: the newest event before them.
    """

    def __init__(self, head: int) -> None:
        self.head = head
        self._events: list[Json] = []
        self._size = 0
        # The command that goes on with the next event, 0 if that begins one; and whether it has a message.
        self._command = 0
        self._has_spoken = False
        self.messages = 0

    def __len__(self) -> int:
        return len(self._events)

    def has_room(self, size: int) -> bool:
        """Return whether an event of so many bytes can be added, and one before it that goes back."""
        return not self._events or (self._size + size <= BYTES and len(self._events) + 2 <= MOST)

    def add(self, event: Json, size: int, *, is_prompt: bool) -> int:
        """Add a message or a record; return the seq of its command. A prompt begins another turn, and so a command."""
        if is_prompt and self._has_spoken:
            self._end()
        is_message = "role" in event
        self._has_spoken = self._has_spoken or is_message
        self.messages += is_message
        self._size += size
        return self._put(event)

    def replace(self, seq: int) -> int:
        """Go back to before a message, in the command of the next event; return its seq."""
        self._end()
        return self._put({"kind": "rewind", "data_json": encode({"before": seq})})

    def restore(self, seq: int) -> int:
        """Go back to the state at a seq, in a command by itself; return its seq."""
        self._end()
        command = self._put({"kind": "restore", "data_json": encode({"to": seq})})
        self._end()
        return command

    def _end(self) -> None:
        self._command, self._has_spoken = 0, False

    def _put(self, event: Json) -> int:
        self._command = event["command"] = self._command or self.head + len(self._events) + 1
        self._events.append(event)
        return self._command

    def call(self, agent: str) -> Call[replies.Appended]:
        """Return the command."""
        asked = requests.append(agent, (), if_seq=self.head)
        return asked._replace(params={**asked.params, "events": self._events})  # these are fitted already
