"""The prompt of ``chat``: lines, messages of several lines, the history, and completion.

It uses the standard library's readline: editing and history as in the shell, with the user's own ``~/.inputrc``, and
pasted lines stay together. prompt_toolkit edits several lines in place, but to import it takes three times as long as
to start Python (readline: 2 %), and it is 10 MB in two packages; ``/edit`` opens the user's editor for that. The
history is what the user said in the conversation, so it is in no file.
"""

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress

from reel.cli.line.context import Context
from reel.reading.wording import safe_lines

try:
    import readline
except ImportError:  # a Python that was built without it
    readline = None  # type: ignore[assignment]

_EDITS = readline is not None
# Two lines of this begin and end a message of several lines.
FENCE = '"""'
# In bash's style: readline must not count what is between these as columns.
_HIDDEN_START, _HIDDEN_END = "\x01", "\x02"


class Prompt:
    """Reads what is typed.

    Args:
        ctx: the command's context.
        offers: returns what may follow the beginning of a line, as whole lines.
    """

    def __init__(self, ctx: Context, offers: Callable[[str], Iterable[str]]) -> None:
        self._ctx = ctx
        self._offers = offers
        self._offered: list[str] = []
        self.after_line: Callable[[], None] = lambda: None
        # What the next line has already when it is shown; who cannot edit it sends it.
        self.begun = ""

    def prepare(self, history: Iterable[str]) -> None:
        """Set up editing; the history is of whole messages."""
        if readline is not None:
            with suppress(AttributeError):  # a Python whose readline cannot
                readline.set_auto_history(False)
            readline.set_startup_hook(self._insert_begun)
            readline.set_completer(self._complete)
            readline.set_completer_delims("")
            if "libedit" in (readline.__doc__ or ""):  # which has other words, and no bracketed paste
                readline.parse_and_bind("bind ^I rl_complete")
            else:
                readline.parse_and_bind("tab: complete")
                # Python turns it off for its own prompt, which takes one line. Then each pasted line is a question.
                readline.parse_and_bind("set enable-bracketed-paste on")
                # Alt-Enter begins a new line: "quoted insert" of a line feed.
                readline.parse_and_bind(r'"\e\C-m": "\C-v\C-j"')
            for said in history:
                readline.add_history(safe_lines(said))

    def _complete(self, _text: str, state: int) -> str | None:
        if state == 0:
            self._offered = list(self._offers(readline.get_line_buffer()))
        return self._offered[state] if state < len(self._offered) else None

    def read(self, label: str) -> str:
        """Read one message: a line, or several that end in a backslash or are between two lines of quotes."""
        line = self.line(label)
        if line.strip() == FENCE:
            said = self._fenced()
        else:
            lines = [line]
            while lines[-1].endswith("\\"):
                lines[-1] = lines[-1][:-1]
                lines.append(self.line("... "))
            said = "\n".join(lines).strip()
        if said and readline is not None:
            readline.add_history(said)
        return said

    def _fenced(self) -> str:
        lines: list[str] = []
        while (line := self.line("... ")).strip() != FENCE:
            lines.append(line)
        return "\n".join(lines)

    def line(self, label: str) -> str:
        """Read a line; :attr:`after_line` is called when it is complete."""
        try:
            return self._line(label)
        finally:
            self.after_line()

    def _line(self, label: str) -> str:
        sys.stdout.flush()
        styled = self._ctx.out.styled(label, "user")
        if styled != label and readline is not None:
            before, _, after = styled.partition(label)
            styled = f"{_HIDDEN_START}{before}{_HIDDEN_END}{label}{_HIDDEN_START}{after}{_HIDDEN_END}"
        said = "" if _EDITS else self._take_begun()
        return said or input(styled)

    def _insert_begun(self) -> None:
        readline.insert_text(self._take_begun())

    def _take_begun(self) -> str:
        begun, self.begun = self.begun, ""
        return begun
