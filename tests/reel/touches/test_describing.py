"""Tools that somebody describes in a settings file."""

from typing import Any

import pytest

from reel.touches.describing import Described, described
from reel.touches.reading import touches
from reel.touches.tables import WrongTable
from reel.touches.touch import Touch
from tests.reel.touches.blocks import call, result

TABLES: dict[str, Any] = {
    "load": {"read": "target"},
    "save": {"wrote": "target", "after": "body", "whole": True},
    "swap": {"wrote": "target", "before": "old", "after": "new"},
    "run_it": {"ran": "line"},
    "Write": {"wrote": "where", "after": "what"},
}


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("load", {"target": "a"}, [Touch("read", "a")]),
        ("save", {"target": "a", "body": "x"}, [Touch("wrote", "a", after="x", whole=True)]),
        ("swap", {"target": "a", "old": "x", "new": "y"}, [Touch("wrote", "a", "x", "y")]),
        ("run_it", {"line": "make"}, [Touch("ran", "", command="make")]),
        ("run_it", {"line": " "}, []),
        ("run_it", {}, []),
        ("Write", {"where": "a", "what": "x"}, [Touch("wrote", "a", after="x")]),
        ("Read", {"file_path": "a"}, [Touch("read", "a")]),
    ],
)
def test_described_tools(name: str, arguments: dict[str, Any], expected: list[Touch]) -> None:
    """A tool that was described is read as it says; all others stay known."""
    assert expected == touches(call(name, arguments), result("x"), described(TABLES).tools)


def test_other_descriptions_are_told_apart() -> None:
    """The number of descriptions is the same for the same ones, whatever their order; without any it is 0."""
    assert Described() == described({})
    assert described(TABLES).digest == described(dict(reversed(TABLES.items()))).digest
    assert 1 == len({described(TABLES).digest} - {0, described({"load": {"read": "target"}}).digest})


@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        (7, "a table for each tool"),
        ({"save": "x"}, r"tools.save: expected a table"),
        ({"save": {}}, "one of read, wrote and ran, got none"),
        ({"save": {"read": "a", "ran": "b"}}, "got read and ran"),
        ({"save": {"wrote": "a"}}, "after is missing"),
        ({"save": {"read": "a", "after": "b"}}, "after is only for a tool that wrote"),
        ({"save": {"read": ""}}, r"tools.save.read: expected the name of an argument, got ''"),
        ({"save": {"wrote": "a", "after": "b", "whole": "yes"}}, "whole: expected true or false, got 'yes'"),
        ({"save": {"writes": "a"}}, "'writes' is not known; there are read, wrote, ran, before, after and whole"),
    ],
)
def test_what_is_wrong(tables: Any, reason: str) -> None:
    """A wrong table is refused, with its name and what would be right."""
    with pytest.raises(WrongTable, match=reason):
        described(tables)
