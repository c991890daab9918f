"""The meaning of undo and redo, read from a list of commands."""

import pytest

from reeld.core.undo import Command, Newest, Undone, command_of, end_of_first_state, redoable, undoable


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
        ([Command(1), Command(2, undoes=1), Command(3, redoes=1, undo=2)], 1, None),
        ([Command(1), Command(2), Command(3, undoes=2), Command(4, undoes=1), Command(5, redoes=1, undo=4)], 1, 2),
        ([Command(1), Command(2, undoes=1), Command(3, redoes=1, undo=9)], 1, 1),
    ],
)
def test_the_next_undo_and_redo(steps: list[Command], undo: int | None, redo: int | None) -> None:
    """An undo takes back the newest command that is in force; a redo takes back the newest undo."""
    redone = redoable(_newest(*steps), 99)

    assert (undo, redo) == (undoable(_newest(*steps), 99), redone and redone.command)


def test_redos_in_a_row_are_not_walked_through() -> None:
    """However many redos there were, the next one is found in two looks: each names the undo that it took back."""
    count = 100
    steps = [Command(seq) for seq in range(1, count + 1)]
    steps += [Command(count + n, undoes=count + 1 - n) for n in range(1, count + 1)]
    steps += [Command(2 * count + n, redoes=n, undo=2 * count + 1 - n) for n in range(1, count)]
    looks: list[int] = []

    def newest(at: int) -> Command | None:
        looks.append(at)
        return _newest(*steps)(at)

    assert Undone(count, count + 1) == redoable(newest, 3 * count)
    assert 2 == len(looks)


@pytest.mark.parametrize("undoes", [5, 6, 99])
def test_an_undo_of_something_later(undoes: int) -> None:
    """A damaged row may say that a command undoes itself, or a later one: the search goes back nevertheless."""
    steps = [Command(2), Command(3), Command(5, undoes=undoes), Command(6, undoes=6)]
    looks: list[int] = []

    def newest(at: int) -> Command | None:
        assert not looks or at < looks[-1]
        looks.append(at)
        return _newest(*steps)(at)

    assert 3 == undoable(newest, 6)


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


@pytest.mark.parametrize(
    ("kind", "data_json", "command"),
    [
        ("user", None, Command(7)),
        ("restore", '{"to":1}', Command(7)),
        ("restore", '{"to":1,"undoes":2}', Command(7, undoes=2)),
        ("restore", '{"to":5,"redoes":2,"undo":6}', Command(7, redoes=2, undo=6)),
        ("restore", "damaged", Command(7)),
    ],
)
def test_what_a_command_undoes_is_in_its_data(kind: str, data_json: str | None, command: Command) -> None:
    """Only a restore can undo or redo one."""
    assert command == command_of(7, kind, data_json)
