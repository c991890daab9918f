"""Output that is longer than the screen goes through a pager."""

from pathlib import Path

import pytest

from reel.cli.commands.shared.pager import Closed, PagerBuffer
from tests.reel.cli.conftest import Reel

from .test_processes import on_terminal

pytestmark = pytest.mark.slow

_PAGER = "sed s/^/|/"


@pytest.fixture
def lengthy(reel: Reel, name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An agent with more lines than a terminal, and a recognizable pager."""
    monkeypatch.setenv("PAGER", _PAGER)
    ran = [reel("add", name, "\n".join(map(str, range(50))), "--create")]
    ran += [reel("mark", name, str(number)) for number in range(30)]
    assert not any(one.status for one in ran), ran
    return name


@pytest.mark.parametrize("command", ["show", "log"])
def test_long_output_is_paged(lengthy: str, command: str) -> None:
    """Every line goes through the pager, from the first on."""
    shown = on_terminal(command, lengthy).splitlines()

    assert len(shown) > 30, shown
    assert all(line.startswith("|") for line in shown), shown


@pytest.mark.parametrize(
    "argv", [["show", "{}", "--no-pager"], ["show", "{}", "--json"], ["log", "{}", "--since", "25"]]
)
def test_short_json_or_declined_output_is_not_paged(lengthy: str, argv: list[str]) -> None:
    """Short output, JSON, and output with --no-pager is not paged."""
    shown = on_terminal(*(word.format(lengthy) for word in argv)).splitlines()

    assert shown
    assert "|" not in {line[0] for line in shown}


def test_pipe_is_not_paged(reel: Reel, lengthy: str) -> None:
    """Output to a pipe is not paged."""
    assert "  49" == reel("show", lengthy).out.splitlines()[-1]


@pytest.mark.parametrize("pager", ["", "/none/pager", "less '"])
def test_missing_pager(lengthy: str, monkeypatch: pytest.MonkeyPatch, pager: str) -> None:
    """If the pager does not exist, everything is printed."""
    monkeypatch.setenv("PAGER", pager)

    assert "  49" == on_terminal("show", lengthy).splitlines()[-1]


def test_pager_that_is_closed_early(tmp_path: Path) -> None:
    """After the pager has ended, writing stops."""
    with (tmp_path / "out").open("w") as stream:
        buffer = PagerBuffer(stream, 1, ["true"])
        with pytest.raises(Closed):
            write_on(buffer)
        buffer.end()


def write_on(buffer: PagerBuffer) -> None:
    """Fill the buffer of whatever is not read."""
    while True:
        buffer.write("x" * 4096 + "\n")
