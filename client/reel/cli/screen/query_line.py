"""The line at the top of a screen on which a query is typed, as in a shell. No I/O."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.screen.keys import Key
from reel.reading.wording import cells, cut_front

if TYPE_CHECKING:
    from reel.cli.screen.output import Line


class QueryLine:
    """A prompt and what is typed after it.

    Args:
        prompt: the text in front of the query.
    """

    def __init__(self, prompt: str) -> None:
        self.text = ""
        self._prompt = prompt

    def press(self, key: Key | str) -> None:
        """Take a key or a text that changes the query; any other key changes nothing."""
        if isinstance(key, str):
            self.text += key
        elif key == Key.BACKSPACE:
            self.text = self.text[:-1]
        elif key == Key.DELETE_WORD:
            self.text = self.text.rstrip().rpartition(" ")[0]
        elif key == Key.DELETE_LINE:
            self.text = ""

    def line(self, width: int) -> Line:
        """Return the line; of a query that does not fit, the end."""
        return [(self._prompt, "bold"), self._shown(width)]

    def column(self, width: int) -> int:
        """Return the column of the cursor, from 1."""
        return 1 + len(self._prompt) + cells(self._shown(width))

    def _shown(self, width: int) -> str:
        return cut_front(self.text, max(width - len(self._prompt) - 1, 1))
