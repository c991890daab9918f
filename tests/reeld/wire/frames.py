"""Streams cut into pieces, and the frames that a framing makes of them."""

from collections.abc import Iterable
from typing import Any

from reel.wire.frames import Frame, InvalidFrame
from reeld.wire.framing import Framing


def fed(framing: Framing, pieces: Iterable[bytes]) -> list[Any]:
    """Feed every piece; return errors as their texts."""
    return [readable(frame) for piece in pieces for frame in framing.feed(piece)]


def readable(frame: Frame) -> Any:
    """Return a frame in a form that can be compared."""
    return (type(frame.error), str(frame.error), frame.fatal) if isinstance(frame, InvalidFrame) else frame


def one_by_one(data: bytes) -> list[bytes]:
    """Cut a stream into single bytes."""
    return [data[index : index + 1] for index in range(len(data))]
