"""An editor as the conformance tests drive it: what all four can do, however each is driven."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest

from tests.editors.surroundings import Require

# The editors for which there is a driver.
EDITORS = sorted(path.parent.name for path in Path(__file__).parent.glob("*/conformance.py"))


class Driven(Protocol):
    """A running editor with the plug-in. A row is counted from 0."""

    def open(self, name: str) -> None:
        """Give the command that shows a conversation; its buffer is the current one then, if there is one."""

    def give(self, command: str, text: str = "") -> None:
        """Give a command, such as ``send`` or ``rename``, with a text; its answer may come later."""

    def lines(self) -> list[str]:
        """Return the lines of the current buffer; a heading may have a time behind it."""

    def tail(self, count: int) -> tuple[int, list[str]]:
        """Return how many lines the current buffer has, and the last ones."""

    def said(self) -> list[str]:
        """Return all that was said or complained of, the newest last."""

    def row(self) -> int:
        """Return the row of the cursor."""

    def go(self, row: int) -> None:
        """Put the cursor on a row."""

    def folds(self) -> list[tuple[int, int]]:
        """Return the first and the last row of each fold."""


class Surroundings(NamedTuple):
    """What an editor is started with.

    Args:
        require: finds a program.
        environment: its whole environment.
        directory: a directory for its files.
    """

    require: Require
    environment: dict[str, str]
    directory: Path


Start = Callable[[Surroundings], AbstractContextManager[Driven]]


@pytest.fixture(params=EDITORS)
def editor(
    request: pytest.FixtureRequest, require: Require, environment: dict[str, str], directory: Path
) -> Iterator[Driven]:
    """One of the editors, with the plug-in."""
    start: Start = import_module(f"tests.editors.{request.param}.conformance").start
    with start(Surroundings(require, environment, directory)) as driven:
        yield driven
