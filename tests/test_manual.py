"""The manual pages are complete, and the programs that format them report no problem."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import manual
from reel.cli.line.overview import ENVIRONMENT, EXIT_STATUSES
from reel.cli.line.table import all_commands
from reeld.config import SETTINGS

PAGES = ("reel.1", "reeld.8")


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """The directory with both pages."""
    manual.main(str(tmp_path / "man"))
    return tmp_path / "man"


def shown(page: Path) -> str:
    """Return a page as a reader sees it."""
    if (program := shutil.which("man")) is None:
        pytest.skip("man is not installed")
    environment = {"PATH": "/usr/bin:/bin", "MANWIDTH": "80", "MAN_KEEP_FORMATTING": "", "LC_ALL": "C.UTF-8"}
    command = [program, "--warnings", "--encoding=UTF-8", "-l", str(page)]
    ended = subprocess.run(command, env=environment, text=True, check=True, capture_output=True)
    assert "" == ended.stderr
    return re.sub(".\b", "", ended.stdout)


@pytest.mark.parametrize("name", PAGES)
def test_man_has_no_complaint(pages: Path, name: str) -> None:
    """man prints no warning, and no line is wider than the screen."""
    assert 0 < max(map(len, shown(pages / name).splitlines())) <= 80


@pytest.mark.parametrize("name", PAGES)
def test_mandoc_has_no_complaint(pages: Path, name: str) -> None:
    """mandoc, the other formatter, reports no problem."""
    if (program := shutil.which("mandoc")) is None:
        pytest.skip("mandoc is not installed")
    ended = subprocess.run(
        [program, "-T", "lint", "-W", "warning", str(pages / name)], text=True, check=False, capture_output=True
    )

    assert (0, "") == (ended.returncode, ended.stdout + ended.stderr)


def test_every_command_and_option_is_there(pages: Path) -> None:
    """The page has everything that the help has, with examples as one types them."""
    page = shown(pages / "reel.1")

    for command in all_commands():
        assert f"   reel {command.name} {command.positionals}".rstrip() + "\n" in page
        assert f"         {command.example.splitlines()[0]}\n" in page
        for flags, _ in command.options:
            assert flags[0] in page


def test_environment_and_exit_statuses_are_in_the_manual(pages: Path) -> None:
    """The page has every row of both tables, with its explanation."""
    page = " ".join(shown(pages / "reel.1").split())

    assert [] == [row for row in (*ENVIRONMENT, *EXIT_STATUSES) if " ".join(row) not in page]


def test_every_setting_is_there(pages: Path) -> None:
    """The daemon's page has each flag and its variable."""
    page = " ".join(shown(pages / "reeld.8").split())

    assert [] == [each.name for each in SETTINGS if f"{each.flag} {each.metavar}" not in page]
    assert [] == [each.name for each in SETTINGS if f"(${each.variable})" not in page]


@pytest.mark.parametrize(("text", "expected"), [(".B x", r"\&.B x"), ("a\n'b", "a\n\\&'b"), ("--a\\", r"\-\-a\e")])
def test_text_is_not_roff(text: str, expected: str) -> None:
    """A text that starts like a roff request is printed as text."""
    assert expected == manual._text(text)
