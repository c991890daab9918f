"""How a command waits for the search index."""

import pytest

from reel.cli.commands.shared.search_index import wait_until_found


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
