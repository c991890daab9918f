"""The extension for VS Code, for the conformance tests."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.editors.driven import Surroundings
from tests.editors.vscode.driver import VSCode, build


@contextmanager
def start(given: Surroundings) -> Iterator["DrivenVSCode"]:
    """Start the extension; it ends with the block."""
    editor = VSCode(build(given.require), given.environment)
    try:
        yield DrivenVSCode(editor)
    finally:
        editor.close()


class DrivenVSCode:
    """The extension, as :class:`tests.editors.driven.Driven` says."""

    def __init__(self, editor: VSCode) -> None:
        self._editor = editor

    def open(self, name: str) -> None:
        """Show a conversation."""
        self._editor.ask("run", command="open", given=name)

    def give(self, command: str, text: str = "") -> None:
        """Give a command."""
        self._editor.ask("give", command=command, given=text or None)

    def lines(self) -> list[str]:
        """Return the lines of the active document."""
        text: str = self._editor.ask("active")
        return text.split("\n")

    def tail(self, count: int) -> tuple[int, list[str]]:
        """Return how many lines the active document has, and the last ones."""
        lines, last = self._editor.ask("tail", count=count)
        return lines, last

    def said(self) -> list[str]:
        """Return all that was said or complained of."""
        found: list[str] = self._editor.ask("heard")
        return found

    def row(self) -> int:
        """Return the line of the cursor."""
        line: int = self._editor.ask("line")
        return line

    def go(self, row: int) -> None:
        """Put the cursor on a line."""
        self._editor.ask("go", line=row)

    def folds(self) -> list[tuple[int, int]]:
        """Return what can be folded."""
        return [(first, last) for first, last in self._editor.ask("active_folds")]
