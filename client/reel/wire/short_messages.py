"""Messages in short, as the daemon keeps them, and sends them to clients that know this form.

A message that is nothing but a text is a list, ``[role, time, seq, text]``, with a map of the fields that it has beside
these behind it, if there are any. Its usual form is three maps and a list. Decoding the short one, and making the
usual one of it, takes two thirds of the time of decoding that: 4.3 ms beside 6.5 for 10,000 messages. All others have
their usual form everywhere.
"""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.wire.msgpack_codec import packed, packer, unpack, unpack_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

# What a list of four values begins with, and one of five.
BEGINNING, LONGER_BEGINNING = b"\x94", b"\x95"
_SHORT, _LONGER = BEGINNING[0], LONGER_BEGINNING[0]
# How many values are nothing but the text.
_FOUR = 4
# How many bytes shorter than in its usual form a message is, and one with more fields: their names, and what is around
# them.
_SAVED, _SAVED_OF_LONGER = 58, 57
_pack = packer()
# The usual form of a text, by where its role ends in the short one: what is before the text.
_HEADS = {
    1 + len(_pack(role)): b"".join(
        (b"\x85", *map(_pack, ("role", role, "content")), b"\x91\x82", *map(_pack, ("type", "text", "text")))
    )
    for role in ("user", "assistant")
}
_BEFORE_SEQ, _BEFORE_TIME = b"".join(map(_pack, ("provider_metadata", {}, "seq"))), _pack("time")
# The first byte of the role "user", and where both roles end.
_USER, _AFTER_USER, _AFTER_ASSISTANT = _pack("user")[0], *_HEADS
# What a time begins with that has so many bytes, as all have since February 1970; and how many bytes a number has that
# begins so, if it is not one.
_TIME, _TIME_SIZE = 0xCF, 9
_SIZES = {0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9}


def spread(messages: list[Any]) -> list[Any]:
    """Replace the short messages of a list by their usual form, one by one, so that few are in memory in both forms."""
    for place, message in enumerate(messages):
        if type(message) is list:
            role, time, seq, text = message if len(message) == _FOUR else message[:_FOUR]
            content = [{"type": "text", "text": text}]
            messages[place] = said = {
                "role": role,
                "content": content,
                "provider_metadata": {},
                "seq": seq,
                "time": time,
            }
            if len(message) > _FOUR:
                said |= message[_FOUR]
    return messages


def unpacked(message: bytes) -> Any:
    """Decode a message that is kept."""
    return spread([unpack(message)])[0]


def unpacked_all(messages: Sequence[bytes]) -> list[Any]:
    """Decode messages that are kept."""
    return spread(unpack_all(messages))


def unabridged(messages: Iterable[bytes]) -> list[bytes]:
    """Return messages that are kept in their usual form, still encoded."""
    return [_unabridged(message) if message[0] in {_SHORT, _LONGER} else message for message in messages]


def _unabridged(message: bytes) -> bytes:
    at = _AFTER_USER if message[1] == _USER else _AFTER_ASSISTANT
    if message[0] == _LONGER or message[at] != _TIME:
        return packed(unpacked(message))
    seq = at + _TIME_SIZE
    text = seq + _SIZES.get(message[seq], 1)
    return b"".join((_HEADS[at], message[text:], _BEFORE_SEQ, message[seq:text], _BEFORE_TIME, message[at:seq]))


def size(message: bytes) -> int:
    """Return how many bytes a message that is kept has in its usual form."""
    begin = message[0]
    return len(message) + (_SAVED if begin == _SHORT else _SAVED_OF_LONGER if begin == _LONGER else 0)


def at_most(messages: Sequence[bytes]) -> int:
    """Return how many bytes messages that are kept have at most in their usual form, in a fifth of the time."""
    return sum(map(len, messages)) + _SAVED * len(messages)
