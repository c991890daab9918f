"""What may stand in a text: no NUL (C strings end there), no lone surrogate (UTF-8 has none)."""

import re

_BAD = re.compile("[\x00\ud800-\udfff]")


def is_clean(text: str) -> bool:
    """Tell whether a text can go over every wire and into the database as it is."""
    if "\x00" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def clean(text: str) -> tuple[str, int]:
    """Replace what may not stand in a text by U+FFFD.

    Returns:
        the text, and how many characters were replaced.
    """
    return (text, 0) if is_clean(text) else _BAD.subn("�", text)
