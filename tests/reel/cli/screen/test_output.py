"""Results go to stdout, hints and warnings to stderr; a pipe gets neither colours nor hints."""

import io
from typing import Any

import pytest

from reel.cli.screen.output import _STYLES, Output, plain, to_json
from reel.replies import AgentRow, Mark, Source


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A colour terminal of a known width."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "72")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_terminal_gets_colours_and_a_pipe_none() -> None:
    """Only a terminal gets colours."""
    terminal, pipe = Terminal(), io.StringIO()

    Output(terminal, io.StringIO()).line(("user", "user"), " says")
    Output(pipe, io.StringIO()).line(("user", "user"), " says")

    assert "\x1b[36muser\x1b[0m says\n" == terminal.getvalue()
    assert "user says\n" == pipe.getvalue()


def test_notices_have_lines_of_their_own() -> None:
    """A notice in the middle of a line that is shown ends it first; in a pipe nothing is added to the text."""
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        out = Output(stream, Terminal())
        out.piece("The answer")
        out.warn("lost the connection")
        out.hint("started the daemon")
        out.piece(" is 42.\n")
        out.warn("done")

    assert "The answer\n is 42.\n" == terminal.getvalue()
    assert "The answer is 42.\n" == pipe.getvalue()


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_declined(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR and a dumb terminal turn colours off."""
    monkeypatch.setenv(name, value)
    terminal = Terminal()

    Output(terminal, io.StringIO()).line(("user", "user"))

    assert "user\n" == terminal.getvalue()


@pytest.mark.parametrize("style", sorted(_STYLES))
def test_colours_are_readable_on_light_and_dark(style: str) -> None:
    """No style uses yellow, blue or a bright colour."""
    assert _STYLES[style] in {"1", "2", "31", "32", "35", "36"}


def test_control_characters_are_escaped_in_any_style() -> None:
    """Control characters are escaped in styled and in plain text alike."""
    stream = Terminal()

    Output(stream, io.StringIO()).line("\x1b[2J", ("\x1b[0m", "dim"))

    assert "\\x1b[2J\x1b[2m\\x1b[0m\x1b[0m\n" == stream.getvalue()


@pytest.mark.parametrize(
    ("stream", "stderr", "as_json", "expected"),
    [
        (Terminal(), Terminal(), False, "\x1b[2mundo: reel undo demo\x1b[0m\n"),
        (Terminal(), Terminal(), True, ""),
        (io.StringIO(), Terminal(), False, ""),
        (Terminal(), io.StringIO(), False, ""),
    ],
)
def test_hints_are_for_people_at_a_terminal(
    stream: io.StringIO, stderr: io.StringIO, as_json: bool, expected: str
) -> None:
    """Hints are printed only on a terminal, and not with --json."""
    Output(stream, stderr, as_json=as_json).hint("undo: reel undo demo")

    assert expected == stderr.getvalue()


def test_warnings_are_one_line() -> None:
    """A warning is one line, and its control characters are escaped."""
    stderr = io.StringIO()

    Output(io.StringIO(), stderr).warn("not_found: no agent\n\x1b[2J")

    assert "reel: not_found: no agent \\x1b[2J\n" == stderr.getvalue()


def test_width_is_known_of_terminals_only() -> None:
    """Lines to a pipe are not wrapped."""
    assert 72 == Output(Terminal(), io.StringIO()).width
    assert Output(io.StringIO(), io.StringIO()).width is None


@pytest.mark.parametrize(
    ("value", "ascii_only", "expected"),
    [
        ({"a": [1, None, True]}, False, '{"a":[1,null,true]}'),
        ("é 日", False, '"é 日"'),
        ("é", True, '"\\u00e9"'),
        ("\x1b\x7f\x9b", False, '"\\u001b\\u007f\\u009b"'),
        ("\U000e0001", False, '"\\udb40\\udc01"'),
    ],
)
def test_json_has_no_raw_control_character(value: Any, ascii_only: bool, expected: str) -> None:
    """JSON has no raw control characters, and stays readable."""
    assert expected == to_json(value, ascii_only=ascii_only)


def test_replies_become_maps() -> None:
    """Typed replies become the protocol's maps; an omitted optional field stays omitted."""
    row = AgentRow("id", "demo", None, {}, True, 3, 1, 2)

    assert {
        "id": "id",
        "name": "demo",
        "title": None,
        "tags": {},
        "alive": True,
        "head": 3,
        "created": 1,
        "updated": 2,
    } == plain(row)
    assert {"agent": "x", "at": 5} == plain(row._replace(source=Source("x", 5)))["source"]
    assert [{"label": None, "seq": 4}] == plain([Mark(None, 4)])
