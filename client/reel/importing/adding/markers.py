"""The markers that the daemon writes in the place of redacted words."""

import re

# One that says when and by whom, or one of those for words that such a marker has itself.
MARKER = re.compile(r"\[redacted(?: [^\]\n]*)?\]|\[removed\]")
_DATED = re.compile(r"\[redacted \d{4}-\d\d-\d\d \d\d:\d\d UTC by ")
_BEGINNING = "[re"


def has_marker(text: str) -> bool:
    """Return whether a text has a marker. Somebody may have written it: whether words were redacted, its log says."""
    return _BEGINNING in text and MARKER.search(text) is not None


def is_certain(text: str) -> bool:
    """Return whether a text has a marker that says when and by whom something was redacted."""
    return _DATED.search(text) is not None
