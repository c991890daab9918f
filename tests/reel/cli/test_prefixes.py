"""The beginning of a name stands for the name, where it is that of one agent."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Reel


@pytest.fixture
def pair(reel: Reel, name: str) -> str:
    """What the names of two agents begin with."""
    reel("new", f"{name}-ab")
    reel("new", f"{name}-cd")
    return name


def _typed(*words: str) -> str:
    """Run the command on a terminal, and give what is seen there."""
    ours, theirs = pty.openpty()
    command = [str(Path(sys.executable).parent / "reel"), *words]
    with os.fdopen(ours, "rb", buffering=0) as screen:
        subprocess.run(command, stdin=theirs, stdout=theirs, stderr=theirs, check=False, timeout=30)
        os.close(theirs)
        return screen.read(4096).decode()


def test_beginning_of_one_name(reel: Reel, pair: str) -> None:
    """What is shown of it is that agent's."""
    reel("add", f"{pair}-ab", "hi")

    assert "  hi" in reel("show", f"{pair}-a").out.splitlines()


def test_what_a_person_types(pair: str, daemon: str) -> None:
    """On a terminal it is enough for commands that change something; the full name is said, with what undoes it."""
    seen = _typed("--socket", daemon, "add", f"{pair}-a", "hi")

    assert f"{pair}-ab: added #2" in seen
    assert f"undo {pair}-ab" in seen


def test_a_script_names_what_it_changes(reel: Reel, pair: str) -> None:
    """Away from a terminal nothing is changed but what was named in full."""
    assert reel("add", f"{pair}-a", "hi").status == 4


@pytest.mark.parametrize(
    "words",
    [
        ("rename", "AGENT", "other"),
        ("title", "AGENT", "other"),
        ("tag", "AGENT", "k=v"),
        ("edit", "AGENT"),
        ("draft", "AGENT", "--add"),
        ("ingest", "AGENT", "/dev/null", "--format", "openai-chat", "--stream"),
    ],
    ids=lambda words: words[0],
)
def test_a_script_names_what_is_read_before_it_changes(
    reel: Reel, pair: str, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor where a command looks at the agent first."""
    monkeypatch.setenv("VISUAL", "sh -c 'echo hi > \"$0\"'")
    before = reel("log", f"{pair}-ab").out
    with Path(os.devnull).open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        ran = reel(*(word.replace("AGENT", f"{pair}-a") for word in words))

    assert (4, "") == (ran.status, ran.out)
    assert before == reel("log", f"{pair}-ab").out


def test_exact_name_goes_first(reel: Reel, pair: str) -> None:
    """A name that is there means itself, whatever else begins with it."""
    reel("new", f"{pair}-a")

    assert reel("add", f"{pair}-a", "hi") == (0, f"{pair}-a: added #2\n", "")


def test_beginning_of_more_than_one(reel: Reel, pair: str) -> None:
    """The error lists who could be meant."""
    expected = f"reel: not_found: no agent {pair}, but several names begin so: {pair}-ab, {pair}-cd\n"

    assert reel("show", pair) == (4, "", expected)


def test_many_are_not_all_listed(reel: Reel, name: str) -> None:
    """Six are enough to see what is missing."""
    for number in range(8):
        reel("new", f"{name}-{number}")

    assert reel("show", name).err.endswith(f": {', '.join(f'{name}-{number}' for number in range(6))}, ...\n")


def test_the_dead_count_where_nobody_lives(reel: Reel, pair: str) -> None:
    """The living go first."""
    reel("kill", f"{pair}-ab")

    assert f"{pair}-cd" in reel("info", pair).out
    assert f"{pair}-ab" in reel("info", f"{pair}-a").out


def test_adding_with_create_makes_it(reel: Reel, pair: str) -> None:
    """Who may make an agent means the name as it stands."""
    assert reel("add", pair, "hi", "--create") == (0, f"{pair}: added #2\n", "")
