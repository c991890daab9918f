"""What a search could not find."""

import pytest

from reel.reading.unindexed import unindexed


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        (1, "the search index is behind: 1 event could not be found yet"),
        (1500, "the search index is being built: 500 of 2,000 events could be found"),
        (2001, "the search index is being built: 0 of 2,000 events could be found"),
    ],
)
def test_what_a_search_could_not_find(behind: int, expected: str) -> None:
    """An index that lacks more than it has is being built, which takes longer than to catch up."""
    assert expected == unindexed(behind, {"search_indexed": 1900, "search_behind": 100})
