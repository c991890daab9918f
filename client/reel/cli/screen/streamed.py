"""An answer at a terminal while it comes: laid out as ``reel show`` does it, each line as soon as it is full.

A line that is not full yet is shown as well, and written again with each piece: a word moves to the next line, and two
stars become a style. What is above it never changes. Code is shown line by line, because a line of it may be wider than
the screen.
"""

from reel.base.values import clean
from reel.cli.screen import markdown
from reel.cli.screen.echo import Echo
from reel.cli.screen.output import Output, render
from reel.reading.fences import Part, parts

_ERASE = "\r\x1b[K"


class StreamedMarkdown(Echo):
    """Prints a text that comes in pieces.

    Args:
        out: where to print; a terminal.
    """

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._wanted = True  # a chat is for a person, also with --json
        # The line of the text that has not ended yet, how many of its rows are printed for good, and the row below.
        self._line = ""
        self._final = 0
        self._shown = ""
        # The fence of the code that the line is in.
        self._fence = ""

    def _show(self, text: str) -> None:
        *whole, self._line = (self._line + clean(text)[0]).split("\n")
        for line in whole:
            self._put(line, ended=True)
            self._final, self._shown = 0, ""
        if self._line:
            self._put(self._line, ended=False)

    def _put(self, line: str, *, ended: bool) -> None:
        """Print the rows of a line that are not printed yet."""
        text = f"{self._fence}\n{line}" if self._fence else line
        # One column less, for a blank at the end.
        width = self._out.current_width() - 1
        rows = list(markdown.layout(text, width, styled=self._out.colour))[bool(self._fence) :]
        for number, row in enumerate(rows[self._final :], self._final + 1):
            is_last = number == len(rows)
            if row.is_code and not ended:
                return
            # A blank at the end is a blank between words if more comes.
            between = " " if is_last and not ended and line.endswith(" ") else ""
            self._show_row(render(row.line, colour=self._out.colour) + between)
            if not is_last or ended:
                self._out.raw("\n")
                self._final, self._shown = number, ""
        if ended:
            part, _ = list(parts(text))[-1]
            self._fence = line if part is Part.OPENING else "" if part is Part.CLOSING else self._fence

    def _show_row(self, row: str) -> None:
        """Show the row below those that are printed for good."""
        if row.startswith(self._shown):
            self._out.raw(row[len(self._shown) :])
        else:
            self._out.raw(_ERASE + row)
        self._shown = row
