"""The mark that stands for a secret in a text: its kind, and a fingerprint by which the same secret is known."""

from __future__ import annotations

import re

# One word without quotes, so that JSON, a line of a shell and an address stay as they are. A dot follows the kind: what
# follows `token:` would be taken for a secret.
_MARK = re.compile(r"\[masked:([a-z0-9-]{1,40})\.([0-9a-f]{16})\]")
# What stands for a secret if neither its kind nor the key of the fingerprints matters.
ANY = "[masked]"


def mark(kind: str, fingerprint: str) -> str:
    """Return the mark of a secret."""
    return f"[masked:{kind}.{fingerprint}]"


def marks(text: str) -> list[tuple[str, str]]:
    """Return the kinds and fingerprints of the marks in a text."""
    return [(kind, fingerprint) for kind, fingerprint in _MARK.findall(text)] if "[masked:" in text else []


def without_marks(text: str) -> str:
    """Return a text in which each mark is replaced by the same word."""
    return _MARK.sub(ANY, text) if "[masked:" in text else text
