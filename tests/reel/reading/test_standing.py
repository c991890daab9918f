"""What took a message out of its conversation."""

from typing import Any

import pytest

from reel.reading.standing import Standing


def event(seq: int, kind: str, parent: int | None) -> Any:
    """Return an event of an agent."""
    return {"agent": "a", "seq": seq, "kind": kind, "parent": parent and {"agent": "a", "seq": parent}}


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([], ""),
        ([event(4, "user", 3), event(5, "assistant", 4)], ""),
        ([event(4, "user", 3), event(5, "rewind", 2), event(6, "user", 2)], "rewound by #5"),
        ([event(4, "restore", 2)], "undone by #4"),
        ([event(4, "clear", None), event(5, "user", None)], "cleared by #4"),
        ([event(4, "user", 2)], "replaced by #4"),
        ([event(4, "restore", 2), event(5, "restore", 3)], ""),
        ([event(4, "clear", None), event(5, "restore", 3), event(6, "rewind", 2)], "rewound by #6"),
    ],
)
def test_what_became_of_a_message(events: list[Any], words: str) -> None:
    """The last command after which the conversation lacks message 3 is named, if it lacks it."""
    standing = Standing(("a", 3))
    standing.add(events)

    assert words == standing.words


def test_where_a_clone_left() -> None:
    """A clone has the message if the conversation had it where the clone left."""
    standing = Standing(("a", 3))
    standing.add([event(4, "user", 3), event(5, "rewind", 2), event(6, "user", 2)])

    assert [True, True, False] == [standing.had_at(seq) for seq in (3, 4, 6)]
