"""How agents are identified: by an id, which sorts by the time it was made (RFC 9562, version 7), or by a name."""

import os
import time

_HEX = "0123456789abcdefABCDEF"
_ID_LENGTH = 32
_LETTERS_AND_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_IN_NAMES = f"{_LETTERS_AND_DIGITS}._/@-"
_LONGEST_NAME = 128


def new_id() -> str:
    """Return a new uuid7 as 32 hex digits: 48 bits of milliseconds and 74 random bits."""
    random = int.from_bytes(os.urandom(10), "big")
    low = (random & (1 << 62) - 1) | 1 << 63
    return f"{time.time_ns() // 1_000_000:012x}7{random >> 68:03x}{low:016x}"


def is_id(text: str) -> bool:
    """Return whether a text has the form of an id, so that it cannot be an agent's name."""
    # Without regular expressions: compiling them takes longer than most commands spend on names altogether.
    return len(text) == _ID_LENGTH and not text.strip(_HEX)


def is_name(text: str) -> bool:
    """Return whether a text can be the name of an agent."""
    begins_well = text[:1] in _LETTERS_AND_DIGITS
    return 0 < len(text) <= _LONGEST_NAME and begins_well and not text.strip(_IN_NAMES) and not is_id(text)
