"""How agents are identified: by an id, which sorts by the time it was made (RFC 9562, version 7), or by a name."""

import os
import re
import time

_ID = re.compile(r"[0-9a-fA-F]{32}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@-]{0,127}")


def new_id() -> str:
    """Return a new uuid7 as 32 hex digits: 48 bits of milliseconds and 74 random bits."""
    random = int.from_bytes(os.urandom(10), "big")
    low = (random & (1 << 62) - 1) | 1 << 63
    return f"{time.time_ns() // 1_000_000:012x}7{random >> 68:03x}{low:016x}"


def is_id(text: str) -> bool:
    """Return whether a text has the form of an id, so that it cannot be an agent's name."""
    return _ID.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Return whether a text can be the name of an agent."""
    return _NAME.fullmatch(text) is not None and not is_id(text)
