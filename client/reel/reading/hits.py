"""The hits of a search, as people read them."""

from __future__ import annotations

from itertools import groupby

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reel.replies import Hit


def grouped(hits: list[Hit]) -> Iterator[list[Hit]]:
    """Yield the hits of each conversation, conversations in the order of their first hit."""
    first = {hit.agent: number for number, hit in reversed(list(enumerate(hits)))}
    for _, group in groupby(sorted(hits, key=lambda hit: first[hit.agent]), key=lambda hit: hit.agent):
        yield list(group)
