"""The screen of an interactive search: the query, and the hits below it. No I/O."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.screen.hit_lines import heading, snippet, title
from reel.cli.screen.keys import Key
from reel.cli.screen.output import cut_line
from reel.cli.screen.query_line import QueryLine
from reel.reading.hits import grouped
from reel.reading.wording import age, cut

if TYPE_CHECKING:
    from reel.cli.screen.output import Line
    from reel.replies import Hit

_HELP = "Enter opens, Ctrl-N and Ctrl-P or the arrows choose, Esc leaves"
# How many hits the keys for a page go up or down.
_PAGE = 5
_STEPS = {Key.UP: -1, Key.DOWN: 1, Key.PAGE_UP: -_PAGE, Key.PAGE_DOWN: _PAGE}


class Screen:
    """The query, its hits in the order in which they are shown, and which of them is chosen."""

    def __init__(self) -> None:
        self._line = QueryLine("search> ")
        self.hits: list[Hit] = []
        self.note = ""
        self._index = 0

    @property
    def query(self) -> str:
        """What is typed."""
        return self._line.text

    @property
    def chosen(self) -> Hit | None:
        """The hit that is chosen; ``None`` if there are no hits."""
        return self.hits[self._index] if self.hits else None

    def press(self, key: Key | str) -> None:
        """Take a key or a text that changes the query or the choice; any other key changes nothing."""
        if isinstance(key, Key) and key in _STEPS:
            self._index = max(0, min(self._index + _STEPS[key], len(self.hits) - 1))
        else:
            self._line.press(key)

    def answer(self, query: str, hits: list[Hit], problem: str, late: str) -> None:
        """Take the answer to a query.

        Args:
            query: the query.
            hits: what was found.
            problem: why not all was found that the index has.
            late: what the index does not have yet.
        """
        self.hits = [hit for group in grouped(hits) for hit in group]
        self._index = 0
        nothing = f"no matches for {query}" if query.strip() and not hits else ""
        self.note = problem or nothing or late

    def lines(self, width: int, height: int) -> list[Line]:
        """Return the lines of the screen."""
        body, first, last = self._body()
        room = max(height - 2, 1)
        top = max(0, min(last - room + 1, first))
        shown = [cut_line(line, width) for line in body[top : top + room]]
        return [self._line.line(width), *shown, [(cut(self.note or _HELP, width), "dim")]]

    def column(self, width: int) -> int:
        """Return the column of the cursor, from 1."""
        return self._line.column(width)

    def _body(self) -> tuple[list[Line], int, int]:
        """Return the lines of all hits, and the first and the last line of the chosen one."""
        lines: list[Line] = []
        first = last = 0
        above = ""
        for number, hit in enumerate(self.hits):
            if hit.agent != above:
                lines += [[], title(hit)] if above else [title(hit)]
            above = hit.agent
            pair = [heading(hit, age), snippet(hit)]
            if number == self._index:
                pair = [[(">", "bold"), str(pair[0][0])[1:], *pair[0][1:]], pair[1]]
                first, last = len(lines), len(lines) + 1
            lines += pair
        return lines, first, last
