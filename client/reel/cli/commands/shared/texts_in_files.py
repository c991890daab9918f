"""Texts that may be anywhere in files, as they are or in JSON: whether a file has one of them."""

import json
import re
from collections.abc import Collection, Iterable

from reel.base.strict_json import encode
from reel.secrets.finding import any_of


class TextsInFiles:
    """Finds texts in the contents of files.

    Args:
        texts: the texts, at least one.
    """

    def __init__(self, texts: Collection[str]) -> None:
        found = forms(texts)
        self._pattern = re.compile(any_of(found).encode("utf-8", "surrogatepass"))
        # A text may begin in a piece and end in a later one.
        self._longest = max(len(form.encode("utf-8", "surrogatepass")) for form in found)

    def are_in(self, pieces: Iterable[bytes]) -> bool:
        """Return whether one of the texts is in a content that comes in pieces."""
        kept = b""
        for piece in pieces:
            if self._pattern.search(kept + piece):
                return True
            kept = (kept + piece)[-self._longest :]
        return False


def forms(texts: Iterable[str]) -> set[str]:
    """Return the texts as they are in texts, and in JSON, which may be in JSON."""
    once = {form for text in texts for form in (text, encode(text)[1:-1], json.dumps(text)[1:-1])}
    return once | {encode(text)[1:-1] for text in once}
