"""What undo and redo mean, read from a list of commands."""

import pytest

from reeld.core.timeline import Newest, Step, redoable, undoable


def _newest(*steps: Step) -> Newest:
    return lambda at: next((step for step in reversed(steps) if step.command <= at), None)


@pytest.mark.parametrize(
    ("steps", "undo", "redo"),
    [
        ([], None, None),
        ([Step(1)], 1, None),
        ([Step(1), Step(2)], 2, None),
        ([Step(1), Step(2), Step(3, undoes=2)], 1, 2),
        ([Step(1), Step(2, undoes=1)], None, 1),
        ([Step(1), Step(2, undoes=1), Step(3, redoes=1)], 1, None),
        ([Step(1), Step(2), Step(3, undoes=2), Step(4, undoes=1)], None, 1),
        ([Step(1), Step(2), Step(3, undoes=2), Step(4, undoes=1), Step(5, redoes=1)], 1, 2),
        ([Step(1), Step(2), Step(3, undoes=2), Step(4)], 4, None),
        ([Step(1), Step(2), Step(3, undoes=2), Step(4), Step(5, undoes=4)], 1, 4),
        ([Step(1), Step(2, undoes=1), Step(3, redoes=1), Step(4, undoes=1)], None, 1),
        ([Step(1, redoes=9)], 9, None),
    ],
)
def test_what_is_next(steps: list[Step], undo: int | None, redo: int | None) -> None:
    """An undo takes back the newest command that stands; a redo what the newest undo took."""
    assert (undo, redo) == (undoable(_newest(*steps), 99), redoable(_newest(*steps), 99))
