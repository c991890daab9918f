"""The hits of a search, as people read them."""

from __future__ import annotations

from itertools import groupby

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reel.replies import Hit

# What is said if not all messages with the words were ranked.
PARTIAL = (
    "very many messages have these words, and only the newest were ranked; a rarer word or a filter finds older ones"
)


def grouped(hits: list[Hit]) -> Iterator[list[Hit]]:
    """Yield the hits of each conversation, conversations in the order of their first hit."""
    first = {hit.agent: number for number, hit in reversed(list(enumerate(hits)))}
    for _, group in groupby(sorted(hits, key=lambda hit: first[hit.agent]), key=lambda hit: hit.agent):
        yield list(group)
