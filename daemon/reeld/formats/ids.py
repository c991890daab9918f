"""Ids of tool calls that all four providers take (``formats.md`` 6.6)."""

import re
from hashlib import sha256

_PLAIN = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_DIGITS = 24


def sent_id(given: str, used: dict[str, None], seq: int, index: int) -> str:
    """Give the id under which a call and its result are sent.

    It is the given one where every provider takes that and no call before it has it; else a hash, of the id alone
    where that is enough, so that a clone sends the same.

    Args:
        given: the id as it is stored.
        used: the ids that were sent before.
        seq: the message of the call.
        index: the number of its block.
    """
    if _PLAIN.fullmatch(given) and given not in used:
        return given
    hashed = f"call_{_hash(given)}"
    if not _PLAIN.fullmatch(given) and hashed not in used:
        return hashed
    return f"call_{_hash(f'{given} {seq} {index}')}"


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_DIGITS]
