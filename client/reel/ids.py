"""Identifiers that sort by the time they were made (RFC 9562, version 7)."""

import os
import re
import time

_ID = re.compile(r"[0-9a-fA-F]{32}")


def new_id() -> str:
    """Make a uuid7, as 32 hex digits: 48 bits of milliseconds, 74 bits of chance."""
    chance = int.from_bytes(os.urandom(10), "big")
    low = (chance & (1 << 62) - 1) | 1 << 63
    return f"{time.time_ns() // 1_000_000:012x}7{chance >> 68:03x}{low:016x}"


def is_id(text: str) -> bool:
    """Tell whether a text has the form of an agent's id, and so cannot be a name."""
    return _ID.fullmatch(text) is not None
