"""The screen on which a conversation is chosen: what is typed, the list, and the end of the chosen one. No I/O."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.screen.agent_list import Table
from reel.cli.screen.keys import Key
from reel.cli.screen.output import cut_line
from reel.cli.screen.query_line import QueryLine
from reel.reading.wording import age, cut, flat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reel.cli.screen.output import Line
    from reel.replies import AgentRow

_MARGIN = "  "
# How many conversations the keys for a page go up or down.
_PAGE = 10
_STEPS = {Key.UP: -1, Key.DOWN: 1, Key.PAGE_UP: -_PAGE, Key.PAGE_DOWN: _PAGE}


class Picker:
    """The query, the conversations that match it, and which of them is chosen.

    Args:
        help_line: the last line, which says what the keys do.
        first: an entry above the conversations, such as "a new conversation{}", where ``{}`` stands for what is typed;
            ``None`` for no such entry.
    """

    def __init__(self, help_line: str, first: str | None = None) -> None:
        self._line = QueryLine("conversation> ")
        self._help = help_line
        self._first = first
        self._rows: list[AgentRow] = []
        self._note = ""
        self._index = 0
        # Whether that was chosen by a key after the last change of the query.
        self._is_moved = False
        self._preview: list[Line] = []

    @property
    def query(self) -> str:
        """What is typed."""
        return self._line.text

    @property
    def is_first_chosen(self) -> bool:
        """Whether the entry above the conversations is chosen."""
        return self._first is not None and self._index == 0

    @property
    def chosen(self) -> AgentRow | None:
        """The conversation that is chosen, if any."""
        index = self._index - (self._first is not None)
        return self._rows[index] if 0 <= index < len(self._rows) else None

    def press(self, key: Key | str) -> None:
        """Take a key or a text that changes the query or the choice; any other key changes nothing."""
        if isinstance(key, Key) and key in _STEPS:
            last = len(self._rows) - (self._first is None)
            self._index = max(0, min(self._index + _STEPS[key], last))
            self._is_moved = True
        else:
            self._line.press(key)
            self._is_moved = False

    def show(self, rows: Sequence[AgentRow], problem: str = "") -> None:
        """Take the conversations that match what is typed.

        The first of them is chosen if something is typed; one that a key chose meanwhile stays chosen.
        """
        before = self.chosen if self._is_moved else None
        self._rows = list(rows)
        own = self._first is not None
        places = [place for place, row in enumerate(rows, own) if before is not None and row.id == before.id]
        self._index = places[0] if places else 1 if own and self.query and rows else 0
        self._note = problem or ("" if rows or not self.query else f"no conversation has all of: {self.query}")

    def preview(self, lines: list[Line]) -> None:
        """Take the end of the conversation that is chosen."""
        self._preview = lines

    def lines(self, width: int, height: int) -> list[Line]:
        """Return the lines of the screen: the list has its upper half, the conversation the lower one."""
        room = max(height - 3, 2)
        listed = self._listed(width, max(room // 2, 1))
        end = self._preview[max(len(self._preview) - max(room - len(listed), 0), 0) :]
        rule: Line = [("─" * width, "dim")]
        filled: list[Line] = [[] for _ in range(room - len(listed) - len(end))]
        foot: Line = [(cut(self._note or self._help, width), "dim")]
        return [cut_line(line, width) for line in (self._line.line(width), *listed, rule, *end, *filled, foot)][:height]

    def column(self, width: int) -> int:
        """Return the column of the cursor, from 1."""
        return self._line.column(width)

    def _listed(self, width: int, room: int) -> list[Line]:
        """Return as many entries as there is room for, the chosen one among them, below the titles if these fit."""
        table = Table(max(width - len(_MARGIN), 1), age)
        titles, *rows = list(table.lines(("", row) for row in self._rows)) or [[]]
        first: list[Line] = [] if self._first is None else [self._first_line()]
        entries = [*first, *rows]
        has_titles = bool(rows) and room > 1
        room -= has_titles
        top = max(0, min(self._index - room // 2, len(entries) - room))
        lines: list[Line] = [[_MARGIN, *titles]] if has_titles else []
        for number, entry in enumerate(entries[top : top + room], top):
            lines.append([(">" if number == self._index else " ", "bold"), " ", *entry])
        return lines

    def _first_line(self) -> Line:
        typed = self.query.strip()
        return [((self._first or "").format(f": {typed}" if typed else ""), "bold")]


def matches(row: AgentRow, query: str) -> bool:
    """Return whether a conversation has all words of a query in what a list shows of it."""
    about = [row.name, row.title or "", row.first_words or "", *(f"{key}={value}" for key, value in row.tags.items())]
    text = flat(" ".join(about)).casefold()
    return all(word in text for word in query.casefold().split())
