"""The interface of a framing: one way to encode calls and responses in a stream of bytes.

The daemon detects from the first byte of a connection which framing its peer speaks
(:func:`reeld.wire.detection.detect`). Theory of operation, for every :class:`Framing`:

* ``feed`` processes received data, in pieces of any size, and returns the frames that are complete.
* ``end`` processes the end of the stream, which may complete or truncate a frame.
* A frame is a :class:`Request`, a :class:`Notification`, a :class:`Response` or an :class:`InvalidFrame`. After an
  invalid frame that is ``fatal`` the framing no longer knows where the next message begins: report the error and
  close the connection. After any other, the stream continues.
* ``request``, ``notify``, ``push``, ``answer``, ``refuse`` and ``reply`` return the bytes to send. A result that is
  ``bytes`` is a map as MessagePack already. It is spliced in unchanged, and so are values of a result that are of
  a class of :mod:`reeld.wire.encoded`: encoded data is never decoded only to be encoded again.

The framings do no I/O.
"""

from typing import Any, Protocol

from reel.base.errors import ReelError
from reel.wire.frames import Frame, Id
from reeld.wire.shared_pushes import SharedPush


class Framing(Protocol):
    """One way to encode calls and responses in a stream of bytes.

    ``push_target`` is the way in which the peer receives pushes: empty for their own names; else a method and its first
    arguments, which are followed by the pair of the push's name and parameters.
    """

    name: str
    push_target: list[str]

    @property
    def held(self) -> int:
        """The number of buffered bytes of an incomplete message."""

    def feed(self, data: bytes) -> list[Frame]:
        """Process received bytes; return the frames that they complete, in order. A fatal frame is the last one."""

    def end(self) -> list[Frame]:
        """Process the end of the stream; return the frames that it completes or truncates."""

    def discard(self) -> None:
        """Free the buffer, and ignore all further bytes."""

    def request(self, request_id: Id, method: str, params: Any) -> bytes:
        """Encode a call that expects a response."""

    def notify(self, method: str, params: dict[str, Any] | list[Any]) -> bytes:
        """Encode a call that expects no response, or a push: a map, which goes to ``push_target``."""

    def push(self, method: str, sub: int, shared: SharedPush) -> bytes:
        """Encode a push to the subscription with the number ``sub``."""

    def answer(self, request_id: Id, result: dict[str, Any] | bytes) -> bytes:
        """Encode a result; its values may be encoded already."""

    def refuse(self, request_id: Id | None, error: ReelError) -> bytes:
        """Encode an error; ``None`` responds to an unreadable message."""

    def reply(self, token: Id, outcome: dict[str, Any] | bytes | ReelError) -> bytes:
        """Encode the push with the outcome of a ``call_async``; values of a result may be encoded already."""
