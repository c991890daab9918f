"""What an agent may be called."""

import re

from reel.ids import is_id

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@-]{0,127}")


def flaw_of_name(text: str) -> str | None:
    """Say why a text cannot be the name of an agent; ``None``: it can."""
    if _NAME.fullmatch(text) is None:
        return "a name is 1 to 128 letters, digits and . _ / @ -, and begins with a letter or digit"
    if is_id(text):
        return "32 hex digits are an id, and no name"
    return None
