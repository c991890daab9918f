"""What a search could not find, because the search index does not have it yet."""

from typing import Any

from reel.reading.wording import count


def unindexed(behind: int, stats: dict[str, Any]) -> str:
    """Return in a few words how much could not be found: an index that lacks more than it has is being built.

    Args:
        behind: how many events the index did not have when the search began.
        stats: the daemon's figures.
    """
    newest = stats["search_indexed"] + stats["search_behind"]
    if behind * 2 > newest:
        found = max(newest - behind, 0)
        return f"the search index is being built: {found:,} of {count(newest, 'event')} could be found"
    return f"the search index is behind: {count(behind, 'event')} could not be found yet"
