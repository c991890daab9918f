"""What an import does with what a reader refuses: keeps it whole, and counts it.

``load`` refuses a damaged body with the place, and its client mends the body. A history that a tool has written cannot
be mended, and one damaged part of it must not keep the rest out.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from reel.base.errors import InvalidMessage
from reel.base.strict_json import Json
from reel.providers.metadata import opaque_block
from reel.said.blocks import kind_of


class Refusals:
    """Keeps what readers refuse as opaque blocks.

    Args:
        provider: the provider whose objects are read.
        counts: how often something of a type was refused; is added to.
    """

    def __init__(self, provider: str, counts: Counter[str] | None = None) -> None:
        self.counts: Counter[str] = Counter() if counts is None else counts
        self._provider = provider

    def taken(self) -> list[str]:
        """Return the types of what was refused since the last call, and forget them."""
        if not self.counts:  # as nearly always
            return []
        refused = [*self.counts.elements()]
        self.counts.clear()
        return refused

    def keep(self, found: Any) -> Json:
        """Return the block of something that was refused, whatever it is."""
        given = found if type(found) is dict else {"type": "unknown", "value": found}
        kind = given.get("type") if given is found else kind_of(found)
        self.counts[kind if type(kind) is str else next(iter(given), "empty")] += 1
        return opaque_block(self._provider, given)


def or_kept(refusals: Refusals | None, found: Any, read: Callable[[], Json]) -> Json:
    """Return the block that a reader makes of something; what it refuses is an error, or kept whole."""
    try:
        return read()
    except InvalidMessage:
        if refusals is None:
            raise
        return refusals.keep(found)
