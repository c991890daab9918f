"""Names of tools that all four providers take (``formats.md`` 6.6)."""

import re
from hashlib import sha256

_PLAIN = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_BAD = re.compile(r"[^a-zA-Z0-9_-]")
_KEPT, _DIGITS = 54, 8


def sent_name(given: str) -> str:
    """Give the name under which a tool is sent: the given one, or what is readable of it with a hash."""
    if _PLAIN.fullmatch(given):
        return given
    readable = _BAD.sub("_", given)[:_KEPT]
    return f"{'' if _PLAIN.fullmatch(readable) else '_'}{readable}_{sha256(given.encode()).hexdigest()[:_DIGITS]}"
