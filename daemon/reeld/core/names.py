"""What an agent may be called."""

from reel.ids import is_id, is_name


def flaw_of_name(text: str) -> str | None:
    """Say why a text cannot be the name of an agent; ``None``: it can."""
    if is_id(text):
        return "32 hex digits are an id, and no name"
    if not is_name(text):
        return "a name is 1 to 128 letters, digits and . _ / @ -, and begins with a letter or digit"
    return None
