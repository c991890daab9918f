"""How a command waits for the search index."""

import pytest

from reel.cli.commands.shared.search_index import lacks, wait_until_found


@pytest.mark.parametrize(("problem", "patience"), [(None, 0.0), ("no room", 1e9)])
def test_an_index_that_does_not_grow(problem: str | None, patience: float) -> None:
    """A command waits so long and no longer, and not at all for an index that cannot be filled."""
    wait_until_found(lambda: {"search_indexed": 1, "search_behind": 1, "search_problem": problem}, patience)


def test_what_others_write_is_not_waited_for() -> None:
    """The wait ends with the event that was the newest at its beginning."""
    behind = [{"search_indexed": indexed, "search_behind": 2, "search_problem": None} for indexed in (1, 2, 3, 4)]
    figures = iter(behind)

    wait_until_found(lambda: next(figures), 1e9)

    assert [behind[3]] == list(figures)


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        (1, "the index is behind: 1 event cannot be found yet; repeat the search later"),
        (1500, "the search index is being built: 500 of 2,000 events could be found; repeat the search later"),
        (2001, "the search index is being built: 0 of 2,000 events could be found; repeat the search later"),
    ],
)
def test_what_a_search_could_not_find(behind: int, expected: str) -> None:
    """An index that lacks more than it has is being built, which takes longer than to catch up."""
    assert expected == lacks(behind, {"search_indexed": 1900, "search_behind": 100})
