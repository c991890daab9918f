"""Which tags and titles are a person's own."""

import json
from typing import Any

from reel.importing.adding.described import Described
from reel.importing.adding.target import CLIENT


def _described(*changes: tuple[str, dict[str, Any]]) -> Described:
    """Return what follows from changes, each with its client; the first one creates the agent."""
    found = Described()
    for number, (client, data) in enumerate(changes):
        event = {"kind": "changed" if number else "created", "data_json": json.dumps(data)}
        found.note(event, is_importer=client == CLIENT)
    return found


def test_tags_of_a_person() -> None:
    """A tag that a person set, changed or removed is theirs; those beside it are not, even if both know them."""
    made = (CLIENT, {"tags": {"cwd": "/a", "model": "m", "branch": "b"}})

    assert set() == _described(made).own
    assert {"cwd", "model", "note"} == _described(
        made, ("nvim", {"tags": {"cwd": "/b", "branch": "b", "note": "n"}})
    ).own


def test_a_tag_that_the_importer_set_later() -> None:
    """It is the importer's, and what a person did earlier stays theirs."""
    changes = [(CLIENT, {"tags": {"a": "1"}}), ("nvim", {"tags": {"a": "2"}}), (CLIENT, {"tags": {"a": "2", "b": "1"}})]

    assert {"a"} == _described(*changes).own


def test_a_title() -> None:
    """A title follows the tool's until somebody else sets it."""
    assert _described((CLIENT, {"title": "Tool's", "tags": {}})).follows_title
    assert not _described((CLIENT, {"title": "Tool's"}), ("nvim", {"title": "Mine"})).follows_title
    assert not _described(("nvim", {"title": "Mine"})).follows_title


def test_other_events() -> None:
    """An event that describes nothing is passed over."""
    found = Described()
    found.note({"kind": "user", "data_json": '{"title": "x"}'}, is_importer=True)
    found.note({"kind": "created", "data_json": None}, is_importer=True)

    assert not found.follows_title
