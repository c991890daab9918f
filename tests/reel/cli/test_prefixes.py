"""The beginning of a name stands for the name, where it is that of one agent."""

import pytest

from .conftest import Reel


@pytest.fixture
def pair(reel: Reel, name: str) -> str:
    """What the names of two agents begin with."""
    reel("new", f"{name}-ab")
    reel("new", f"{name}-cd")
    return name


def test_beginning_of_one_name(reel: Reel, pair: str) -> None:
    """What is done is said with the full name, in what undoes it as well."""
    assert reel("add", f"{pair}-a", stdin=b"from stdin\n") == (0, f"{pair}-ab: added 2\n", "")
    assert reel("add", "-a", f"{pair}-a", "two") == (0, f"{pair}-ab: added 3\n", "")
    assert ["  from stdin", "  two"] == [line for line in reel("show", f"{pair}-a").out.splitlines() if line[:1] == " "]


def test_exact_name_goes_first(reel: Reel, pair: str) -> None:
    """A name that is there means itself, whatever else begins with it."""
    reel("new", f"{pair}-a")

    assert reel("add", f"{pair}-a", "hi") == (0, f"{pair}-a: added 2\n", "")


def test_beginning_of_more_than_one(reel: Reel, pair: str) -> None:
    """The error lists who could be meant, and nothing is done."""
    expected = f"reel: not_found: no agent {pair}, and more than one whose name begins so: {pair}-ab, {pair}-cd\n"

    assert reel("kill", pair) == (4, "", expected)


def test_many_are_not_all_listed(reel: Reel, name: str) -> None:
    """Six are enough to see what is missing."""
    for number in range(8):
        reel("new", f"{name}-{number}")

    assert reel("show", name).err.endswith(f": {', '.join(f'{name}-{number}' for number in range(6))}, ...\n")


def test_the_dead_count_where_nobody_lives(reel: Reel, pair: str) -> None:
    """The living go first; who revives one may be as short."""
    reel("kill", f"{pair}-ab")
    assert reel("mark", pair, "x").out.startswith(f"{pair}-cd: mark x")

    assert reel("revive", f"{pair}-a") == (0, f"{pair}-ab: lives\n", "")


def test_adding_with_create_makes_it(reel: Reel, pair: str) -> None:
    """Who may make an agent means the name as it stands."""
    assert reel("add", pair, "hi", "--create") == (0, f"{pair}: added 2\n", "")
