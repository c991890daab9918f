"""What is read of a stretch before anything is looked up."""

import pytest

from reel.base.errors import InvalidMessage
from reeld.core.stretch import read_stretch


def test_commands_are_told_by_their_numbers() -> None:
    """Consecutive events with one number are one command, whatever the number is; events without one are alone."""
    said = {"role": "user", "content": "x"}
    numbers = [5, 5, None, None, 5, 0, 0]
    stretch = read_stretch([said if number is None else {**said, "command": number} for number in numbers])

    assert [(0, 2), (2, 1), (3, 1), (4, 1), (5, 2)] == [
        (command.first, len(command.rows)) for command in stretch.commands
    ]


def test_what_was_replaced_is_counted() -> None:
    """Characters that free text cannot hold, and numbers that messages have as text, in all events together."""
    events = [
        {"role": "user", "content": "a\0"},
        {"role": "user", "content": "b\ud800"},
        {"role": "user", "content": "c", "provider_metadata": {"n": 1 << 70}},
    ]

    assert {"replaced": 2, "numbers_as_text": 1} == read_stretch(events).altered.as_map()


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ({"kind": []}, "kind: expected a string, got a list"),
        ({"kind": "mark", "data_json": {"label": "m"}}, "data_json: expected a string, got a map"),
        ({"kind": "mark", "role": "user"}, "role: a mark has no such field"),
        ({"kind": "mark", "content": "m"}, "content: a mark has none"),
        ({"kind": "restore", "data_json": "{"}, "data_json"),
        ({"kind": "note", "parent": -1}, "parent: expected a seq, got -1"),
        ({"kind": "note", "command": True}, "command: expected a seq, got a boolean"),
    ],
)
def test_what_is_not_an_event_is_refused(event: dict[str, object], why: str) -> None:
    """The error says the field."""
    with pytest.raises(InvalidMessage, match="events\\[0\\]") as refused:
        read_stretch([event])

    assert why in refused.value.message


@pytest.mark.parametrize(
    ("events", "why"),
    [
        (["words"], "events[0].kind: expected a message or a record, got a string"),
        ([{"role": "user", "content": "x", "seq": 1}], "events[0].seq: the daemon sets it"),
        ([{"kind": "state", "content": ""}], "events[0].content: expected a key"),
        (
            [{"kind": "note", "command": 1}, {"kind": "mark", "command": 1}],
            "events[1].command: 'mark' begins a command",
        ),
        ([{"kind": "mark", "command": 1}, {"kind": "note", "command": 1}], "events[1].command: 'mark' is a command by"),
    ],
)
def test_the_error_has_the_index_of_the_event(events: list[object], why: str) -> None:
    """Whatever is wrong, and whichever event it is."""
    with pytest.raises(InvalidMessage) as refused:
        read_stretch(events)

    assert why in refused.value.message


def test_a_parent_is_kept_for_later() -> None:
    """The seq that an event names as its parent is known by the event's index, and so is its reference."""
    stretch = read_stretch([{"kind": "mark", "ref": "m"}, {"kind": "note", "parent": 0, "ref": "n"}])

    assert ({1: 0}, {"m": 0, "n": 1}) == (stretch.parents, stretch.refs)
