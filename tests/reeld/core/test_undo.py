"""The meaning of undo and redo, read from a list of commands."""

import pytest

from reeld.core.undo import Command, Newest, end_of_first_state, redoable, undoable


def _newest(*steps: Command) -> Newest:
    return lambda at: next((step for step in reversed(steps) if step.seq <= at), None)


@pytest.mark.parametrize(
    ("steps", "undo", "redo"),
    [
        ([], None, None),
        ([Command(1)], 1, None),
        ([Command(1), Command(2)], 2, None),
        ([Command(1), Command(2), Command(3, undoes=2)], 1, 2),
        ([Command(1), Command(2, undoes=1)], None, 1),
        ([Command(1), Command(2, undoes=1), Command(3, redoes=1)], 1, None),
        ([Command(1), Command(2), Command(3, undoes=2), Command(4, undoes=1)], None, 1),
        ([Command(1), Command(2), Command(3, undoes=2), Command(4, undoes=1), Command(5, redoes=1)], 1, 2),
        ([Command(1), Command(2), Command(3, undoes=2), Command(4)], 4, None),
        ([Command(1), Command(2), Command(3, undoes=2), Command(4), Command(5, undoes=4)], 1, 4),
        ([Command(1), Command(2, undoes=1), Command(3, redoes=1), Command(4, undoes=1)], None, 1),
        ([Command(1, redoes=9)], 9, None),
    ],
)
def test_the_next_undo_and_redo(steps: list[Command], undo: int | None, redo: int | None) -> None:
    """An undo takes back the newest command that is in force; a redo takes back the newest undo."""
    assert (undo, redo) == (undoable(_newest(*steps), 99), redoable(_newest(*steps), 99))


@pytest.mark.parametrize(
    ("kinds", "end"),
    [
        (["created"], 5),
        (["created", "system"], 6),
        (["created", "user"], 5),
        (["created", "system", "user"], 5),
        (["clone"], 5),
        (["user"], 4),
    ],
)
def test_end_of_first_state(kinds: list[str], end: int) -> None:
    """Only what ``create`` or ``clone`` wrote cannot be undone; a log that begins otherwise has nothing of that."""
    assert end == end_of_first_state(5, kinds)
