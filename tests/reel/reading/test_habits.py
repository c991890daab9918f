"""How a command is run, from the runs of it."""

from typing import Any

import pytest

from reel.reading.habits import Habit, chosen, following, form_of, habits
from reel.replies import Edit
from reel.touches.touch import Touch


def run(command: str, status: int | None = 0, seq: int = 1, time: int = 1) -> Edit:
    """Return a command that was run."""
    return Edit(1, "a1", "demo", None, seq, time, True, "c1", "ran", "/p", status, True, False, command=command)


@pytest.mark.parametrize(
    ("command", "form", "is_own"),
    [
        ("make  check", "make check", True),
        ("cd /p && make check", "make check", True),
        ("cd '/my p' && make check 2>&1 | tail -5", "make check", False),
        ("make check 2>&1", "make check", True),
        ("make check | head -n 5 | cat", "make check", False),
        ("make check | grep x", "make check | grep x", True),
        ("cd /p; make", "cd /p; make", True),
        ("make\ncheck", "make check", True),
        ("", "", True),
    ],
)
def test_forms(command: str, form: str, is_own: bool) -> None:
    """What leads to a command, and what shortens its output, is no part of it; behind a pipe, no status is its own."""
    assert (form, is_own) == form_of(command)


def test_habits() -> None:
    """Forms are counted with their exit statuses; the newest failure is remembered."""
    newest, failed = run("make", 0, 9), run("cd /p && make", 2, 8)
    runs = [newest, failed, run("make | tail", 0, 7), run("make", 1, 6), run("make -j2", None, 5)]

    assert [
        Habit("make", 4, {0: 1, 2: 1, None: 1, 1: 1}, newest, failed),
        Habit("make -j2", 1, {None: 1}, runs[4], None),
    ] == habits(runs)


def test_the_newest_form_is_among_those_chosen() -> None:
    """The most frequent forms are shown, and the newest one in place of the last of them."""
    made = habits([run("new", time=9), *[run("a")] * 3, *[run("b")] * 2])

    assert ["a", "b", "new"] == [habit.command for habit in chosen(made, 5)]
    assert ["a", "new"] == [habit.command for habit in chosen(made, 2)]
    assert ["new"] == [habit.command for habit in chosen(made, 1)]
    assert [] == chosen([], 2)


def messages(*calls: tuple[str, dict[str, Any], str]) -> list[dict[str, Any]]:
    """Return messages with calls and their results."""
    found: list[dict[str, Any]] = []
    for number, (name, arguments, content) in enumerate(calls):
        call = {"type": "tool_call", "id": f"c{number}", "name": name, "arguments": arguments}
        result = {"type": "tool_result", "tool_call_id": f"c{number}", "content": content, "is_error": False}
        found += [{"role": "assistant", "content": [call]}, {"role": "tool", "content": [result]}]
    return found


def test_what_followed_a_failure() -> None:
    """What was done after a failure is listed until the command is run again, in some form."""
    after = messages(
        ("Write", {"file_path": "a", "content": "x"}, "done"),
        ("Bash", {"command": "cd /p && make | tail"}, "fine"),
        ("Read", {"file_path": "b"}, "x"),
    )
    wrote = Touch("wrote", "a", after="x", whole=True)

    assert [wrote, Touch("ran", "", command="cd /p && make | tail", status=0)] == list(following(after, run("make"), 5))
    assert [wrote] == list(following(after, run("make"), 1))
    assert 3 == len(list(following(after, run("other"), 5)))
    assert [] == list(following([], run("make"), 5))
