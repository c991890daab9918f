"""The short form or the prefix of a name stands for the name, if only one agent is meant."""

import os
import pty
import subprocess
import sys
from pathlib import Path
from zlib import crc32

import pytest

from reel.sync.client import Client
from tests.patience import PATIENCE
from tests.reel.cli.conftest import Reel


@pytest.fixture
def pair(reel: Reel, name: str) -> str:
    """The common prefix of the names of two agents."""
    reel("new", f"{name}-ab")
    reel("new", f"{name}-cd")
    return name


def _typed(*words: str) -> str:
    """Run the command on a terminal, and return its output."""
    ours, theirs = pty.openpty()
    command = [str(Path(sys.executable).parent / "reel"), *words]
    with os.fdopen(ours, "rb", buffering=0) as screen:
        subprocess.run(command, stdin=theirs, stdout=theirs, stderr=theirs, check=False, timeout=PATIENCE)
        os.close(theirs)
        return screen.read(4096).decode()


def test_prefix_of_one_name(reel: Reel, pair: str) -> None:
    """The agent with that name is shown."""
    reel("add", f"{pair}-ab", "hi")

    assert "  hi" in reel("show", f"{pair}-a").out.splitlines()


def test_prefix_at_a_terminal(pair: str, daemon: str) -> None:
    """At a terminal a prefix is enough for a change; the output has the full name."""
    seen = _typed("--socket", daemon, "add", f"{pair}-a", "hi")

    assert f"{pair}-ab: added #2" in seen
    assert f"undo {pair}-ab" in seen


def test_prefix_in_a_script_changes_nothing(reel: Reel, pair: str) -> None:
    """Without a terminal a change needs the full name."""
    assert 4 == reel("add", f"{pair}-a", "hi").status


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
def test_prefix_in_a_script_that_reads_first(
    reel: Reel, pair: str, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """This also holds for a command that reads the agent first."""
    monkeypatch.setenv("VISUAL", "sh -c 'echo hi > \"$0\"'")
    before = reel("log", f"{pair}-ab").out
    with Path(os.devnull).open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        ran = reel(*(word.replace("AGENT", f"{pair}-a") for word in words))

    assert (4, "") == (ran.status, ran.out)
    assert before == reel("log", f"{pair}-ab").out


def test_prefix_in_a_script_is_named(reel: Reel, pair: str) -> None:
    """The error says which agent may be meant."""
    refused = reel("add", f"{pair}-a", "hi")

    expected = (
        f"reel: not_found: no conversation {pair}-a, but {pair}-ab begins so; in a script, a command that changes"
        " something needs the whole name\n"
    )
    assert (4, "", expected) == refused


def test_exact_name_takes_precedence(reel: Reel, pair: str) -> None:
    """An existing name means itself, even if other names begin with it."""
    reel("new", f"{pair}-a")

    assert (0, f"{pair}-a: added #2\n", "") == reel("add", f"{pair}-a", "hi")


def test_prefix_of_several_names(reel: Reel, pair: str) -> None:
    """The error lists the matching names."""
    expected = f"reel: not_found: no conversation {pair}, but several names begin so: {pair}-ab, {pair}-cd\n"

    assert (4, "", expected) == reel("show", pair)


def test_prefix_of_many_names(reel: Reel, name: str) -> None:
    """The error lists six names at most."""
    for number in range(8):
        reel("new", f"{name}-{number}")

    assert reel("show", name).err.endswith(f": {', '.join(f'{name}-{number}' for number in range(6))}, ...\n")


def test_prefix_of_a_killed_agent(reel: Reel, pair: str) -> None:
    """A killed agent counts only if no live one matches."""
    reel("kill", f"{pair}-ab")

    assert f"{pair}-cd" in reel("info", pair).out
    assert f"{pair}-ab" in reel("info", f"{pair}-a").out


def test_prefix_with_create_is_a_new_name(reel: Reel, pair: str) -> None:
    """With --create the name is taken as it is."""
    assert (0, f"{pair}: added #2\n", "") == reel("add", pair, "hi", "--create")


@pytest.mark.parametrize("command", ["show", "clear"])
def test_a_slip_of_the_keys(reel: Reel, client: Client, name: str, command: str) -> None:
    """The name that was probably meant is said, whether the command changes anything or not."""
    client.create(f"{name}-reel")
    ran = reel(command, f"{name}-rele")

    assert 4 == ran.status
    assert f"no conversation {name}-rele (did you mean {name}-reel?); " in ran.err
    assert "did you mean" not in reel(command, f"{name}-another-one").err


@pytest.fixture
def session(reel: Reel, request: pytest.FixtureRequest) -> str:
    """The name of an imported conversation, which has digits of its own; it has a sub-agent."""
    digits = f"{crc32(request.node.name.encode()):08x}"
    name = f"claude-code/{digits}-77b1-4d25-bc34-9ea8{digits}"
    reel("new", name)
    reel("new", f"{name}/agent-{digits[:7]}")
    return name


@pytest.mark.parametrize("form", ["{tool}/{digits}", "{digits}", "{digits}-77b1", "a8{digits}", "{tool}/a8{digits}"])
def test_short_form(reel: Reel, session: str, form: str) -> None:
    """A reading command takes eight digits of either end, though the names of sub-agents begin alike."""
    ran = reel("info", form.format(tool="claude-code", digits=session[12:20]), "--json")

    assert [session] == [agent["name"] for agent in ran.documents]


def test_short_form_of_several(reel: Reel, session: str) -> None:
    """The error lists the names that are meant."""
    other = session.replace("claude-code/", "codex/").replace("-4d25-", "-4d26-")
    reel("new", other)
    digits = session[12:20]

    expected = f"reel: not_found: no conversation {digits}, but several names are meant by it: {session}, {other}\n"
    assert (4, "", expected) == reel("show", digits)


def test_short_form_in_a_script_changes_nothing(reel: Reel, session: str) -> None:
    """Without a terminal a change needs the full name, which the error has."""
    refused = reel("add", session[12:20], "hi")

    assert (4, "") == refused[:2]
    assert f"but {session} is meant by it; in a script, " in refused.err


def test_short_form_at_a_terminal(session: str, daemon: str) -> None:
    """At a terminal a short form is enough for a change; the output has the full name."""
    assert f"{session}: added #2" in _typed("--socket", daemon, "add", session[:20], "hi")


def test_two_short_forms(reel: Reel, session: str) -> None:
    """Each of several names in a command may be short."""
    reel("add", session, "hi")
    forms = session[12:20], f"claude-code/agent-{session[12:19]}"

    assert [(1, "- #2"), (1, "+ #2")] == [
        (ran.status, ran.out[:4]) for ran in (reel("diff", *forms), reel("diff", *reversed(forms)))
    ]
