"""The output of a command: lines for people, JSON documents for programs.

Every line goes through :meth:`Output.line`, which escapes control characters, so that no text of a conversation can
control the terminal. Results go to stdout; hints and warnings about them go to stderr.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from stat import S_ISREG

from reel.base.light_typing import TYPE_CHECKING
from reel.reading.wording import cells, cut, safe, safe_lines

if TYPE_CHECKING:
    from typing import Any, Protocol, TextIO, TypeAlias

    class Writable(Protocol):
        """Something that text can be written to."""

        def write(self, text: str, /) -> int:
            """Write a text."""
            ...


# A piece of a line: a text, or a text with a style.
Span: TypeAlias = "str | tuple[str, str]"
Line: TypeAlias = "list[Span]"

# Of the terminal's own sixteen colours, those that are readable on light and on dark backgrounds: not yellow, which
# vanishes on white, and not blue, which vanishes on black. Not bold: many terminals then take the bright colour.
_RED, _GREEN, _MAGENTA, _CYAN = "31", "32", "35", "36"
_STYLES = {
    "dim": "2",
    "heading": "1",
    "code": _CYAN,
    "bold": "1",
    "system": "1",
    "user": _CYAN,
    "assistant": _GREEN,
    "tool": _MAGENTA,
    "call": _MAGENTA,
    "result": _MAGENTA,
    "error": _RED,
    "ok": _GREEN,
    "warn": _MAGENTA,
    "bad": _RED,
    "--": "2",
    "match": "31",
}
_WIDTH, _HEIGHT = 80, 24
_ERASE = "\r\x1b[K"
# What a warning begins with.
_WHO = "reel: "
# What a text can be cut to: a wide character and the ellipsis.
_CUT_WIDTH = 3


class Output:
    """The output of a command.

    Args:
        stream: stdout, for results.
        stderr: stderr, for hints and warnings.
        as_json: whether results are printed as JSON.
        color: when to use colours: ``auto`` (on a terminal), ``always`` or ``never``.
        hints: whether to print hints.
    """

    def __init__(
        self, stream: TextIO, stderr: TextIO, *, as_json: bool = False, color: str = "auto", hints: bool = True
    ) -> None:
        self.as_json = as_json
        self.terminal = stream.isatty()
        self.width = _columns(stream) if self.terminal else _preview_columns()
        self._stream: Writable = stream
        self._stdout = stream
        self._utf8 = _is_utf8(stream)
        self._stderr = stderr
        self.colour = _wants_colour(stream, color)
        self._colour_stderr = _wants_colour(stderr, color)
        # Whether a person reads remarks about the result.
        self.tells_a_person = stderr.isatty()
        # A pipe gets the result and nothing else.
        self.shows_hints = hints and self.terminal and stderr.isatty() and not as_json
        # The program that we are piped into may be drawing on this terminal.
        self._owns_terminal = stderr.isatty() and (self.terminal or _is_file(stream))
        # Whether what is told is folded at the edge of the terminal: at a prompt of ours. Not in a shell: a command
        # that is named there could not be copied.
        self.folds = False
        self._printed = 0
        # Whether a line on the screen has begun and not ended.
        self._is_midway = False
        self._transient_shown = 0

    def redirect(self, stream: Writable) -> Writable:
        """Print to another stream from now on, in the same form, and return the previous one."""
        before, self._stream = self._stream, stream
        return before

    def line(self, *spans: Span) -> None:
        """Print a line."""
        self._print(render(spans, colour=self.colour))

    def tell(self, *spans: Span, hang: int = 0) -> None:
        """Print a line for a person, which may be folded.

        Args:
            spans: the line.
            hang: the indentation of its second line.
        """
        self.lines(self._folded(spans, hang))

    def styled(self, text: str, style: str) -> str:
        """Return a text as it is printed with a style, for what prints it by other means."""
        return render([(text, style)], colour=self.colour)

    def lines(self, lines: Iterable[Line]) -> None:
        """Print lines."""
        for line in lines:
            self.line(*line)

    def document(self, value: Any) -> None:
        """Print a value as JSON, on one line."""
        self._print(to_json(value, ascii_only=not self._utf8))

    def documents(self, values: Iterable[Any]) -> None:
        """Print values as JSON Lines."""
        for value in values:
            self.document(value)

    def json_text(self, text: str) -> None:
        """Print a JSON text unchanged, on a line of its own."""
        self._print(escaped(text, ascii_only=not self._utf8))

    def piece(self, text: str) -> None:
        """Print a piece of a text, with its line breaks."""
        self.raw(safe_lines(text))

    def raw(self, text: str) -> None:
        """Print a text that was rendered already."""
        self._printed += 1
        self._stream.write(text)
        self._is_midway = not text.endswith("\n") if text else self._is_midway

    def current_width(self) -> int:
        """Return how many columns the terminal has now: a command that runs for long sees it change."""
        return _columns(self._stdout)

    def transient(self, lines: Sequence[Span]) -> None:
        """Show lines on a terminal until the next one is printed or they are replaced; without lines, erase them.

        They must fit on the screen: a line is cut at its edge, but what has scrolled away cannot be erased.
        """
        if not self.terminal or not (lines or self._transient_shown):
            return
        width = max(self.current_width() - 1, 1)
        shown = "\n".join(render([_cut(line, width)], colour=self.colour) for line in lines)
        up = f"\x1b[{self._transient_shown - 1}A" if self._transient_shown > 1 else ""
        self._stream.write(f"\r{up}\x1b[J{shown}" if up or len(lines) > 1 else f"{_ERASE}{shown}")
        self._transient_shown = len(lines)

    def _print(self, line: str) -> None:
        self.transient(())
        self._stream.write(line + "\n")
        self._printed += 1

    def waiting(self, what: str | Callable[[], str], *, midway: bool = False) -> AbstractContextManager[None]:
        """Show what the block waits for, if it takes longer than a moment.

        Args:
            what: the text, or what returns it for each update.
            midway: show it also below what was printed; else nothing is shown then, since a pager may run by now.
        """
        text = (lambda: what) if isinstance(what, str) else what
        if midway and self._owns_terminal:
            return self._progress(text)
        return self._waiting(text)

    def printing(self) -> AbstractContextManager[None]:
        """Show how many lines the block has printed, if it takes longer than a moment."""
        return nullcontext() if self.terminal else self._waiting(lambda: f"{self._printed:,} lines")

    def _waiting(self, what: Callable[[], str]) -> AbstractContextManager[None]:
        # The output may be in a pager by now.
        if not self._owns_terminal or (self.terminal and self._printed):
            return nullcontext()
        return self._progress(what)

    def _progress(self, what: Callable[[], str]) -> AbstractContextManager[None]:
        from reel.cli.screen.progress import show_progress  # noqa: PLC0415 - a script shows no progress

        return show_progress(self._stderr.fileno(), what)

    def hint(self, text: str) -> None:
        """Print what a person may want to know next; not if stdout is a pipe."""
        if self.shows_hints:
            self._end_line()
            for line in self._folded([(text, "dim")]):
                self._stderr.write(render(line, colour=self._colour_stderr) + "\n")

    def warn(self, text: str) -> None:
        """Print a warning or an error."""
        self._end_line()
        for line in self._folded([" ".join(f"{_WHO}{text}".split())], len(_WHO)):
            self._stderr.write(render(line, colour=False) + "\n")

    def _folded(self, spans: Sequence[Span], hang: int = 0) -> Iterable[Line]:
        if not self.folds:
            return [[*spans]]
        from reel.cli.screen.folding import fold  # noqa: PLC0415 - only a prompt folds

        return fold(spans, self.current_width(), hang)

    def _end_line(self) -> None:
        """End a line that has begun on the screen, so that what is told about it has a line of its own."""
        if self._is_midway and self.terminal and self.tells_a_person:
            self.raw("\n")
            self._stdout.flush()


def _text_and_style(span: Span) -> tuple[str, str]:
    return (span, "") if isinstance(span, str) else span


def _cut(span: Span, width: int) -> Span:
    text, style = _text_and_style(span)
    return cut(text, width), style


def cells_of(line: Line) -> int:
    """Return how many columns a line takes."""
    return sum(cells(safe(_text_and_style(span)[0])) for span in line)


def is_interactive(stdin: TextIO, stdout: TextIO) -> bool:
    """Return whether a person can use the whole screen: both ends are a terminal that can move its cursor."""
    return stdin.isatty() and stdout.isatty() and os.environ.get("TERM") != "dumb"


def cut_line(line: Line, width: int) -> Line:
    """Return as much of a line as fits into some columns."""
    shown: Line = []
    for span in line:
        text, style = _text_and_style(span)
        if width <= 0:
            break
        fitting = cut(text, width) if width >= _CUT_WIDTH or cells(safe(text)) <= width else "…"
        width -= cells(fitting)
        shown.append((fitting, style))
        if fitting != safe(text):
            break
    return shown


def render(spans: list[Span] | tuple[Span, ...], *, colour: bool) -> str:
    """Return a line as text, with control characters escaped."""
    return "".join(_styled(span, colour=colour) for span in spans)


def _styled(span: Span, *, colour: bool) -> str:
    text, style = _text_and_style(span)
    if not (colour and style and text):
        return safe(text)
    return f"\x1b[{_STYLES[style]}m{safe(text)}\x1b[0m"


def to_json(value: Any, *, ascii_only: bool = False) -> str:
    """Return a reply, or a part of one, as the protocol's JSON, without raw control characters."""
    import json  # noqa: PLC0415 - most commands print no JSON

    return escaped(json.dumps(plain(value), ensure_ascii=ascii_only, separators=(",", ":")), ascii_only=False)


def escaped(text: str, *, ascii_only: bool) -> str:
    """Return a JSON text in which characters that a terminal might obey, or cannot show, are escaped."""
    if text.isprintable() and (text.isascii() or not ascii_only):
        return text
    return "".join(
        char if char.isprintable() and (char.isascii() or not ascii_only) else _escaped(char) for char in text
    )


def _escaped(char: str) -> str:
    code = ord(char)
    if code < 1 << 16:
        return f"\\u{code:04x}"
    code -= 1 << 16
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def plain(value: Any) -> Any:
    """Return typed replies as maps; an optional field with its default value is left out."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    fields: tuple[str, ...] | None = getattr(value, "_fields", None)
    if fields is None:
        return value
    defaults: dict[str, Any] = value._field_defaults
    pairs = ((field, getattr(value, field)) for field in fields)
    return {field: plain(item) for field, item in pairs if field not in defaults or item != defaults[field]}


def _wants_colour(stream: TextIO, when: str) -> bool:
    if when != "auto":
        return when == "always"
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _is_file(stream: TextIO) -> bool:
    try:
        return S_ISREG(os.fstat(stream.fileno()).st_mode)
    except OSError:
        return False


def _is_utf8(stream: TextIO) -> bool:
    return (stream.encoding or "").lower().replace("-", "") == "utf8"


def _preview_columns() -> int | None:
    """Return the width of the window in which fzf shows the output of a command; ``None`` if it runs none."""
    try:
        return int(os.environ.get("FZF_PREVIEW_COLUMNS", "")) or None
    except ValueError:
        return None


def _columns(stream: TextIO) -> int:
    """Return a terminal's width from ``$COLUMNS`` or from the terminal."""
    try:
        return int(os.environ.get("COLUMNS", "")) or _WIDTH
    except ValueError:
        pass
    try:
        return os.get_terminal_size(stream.fileno()).columns or _WIDTH
    except OSError:
        return _WIDTH


def screen_height(stream: TextIO) -> int:
    """Return how many lines a terminal has."""
    try:
        return os.get_terminal_size(stream.fileno()).lines or _HEIGHT
    except OSError:
        return _HEIGHT


def open_streams() -> None:
    """Let stdout and stderr accept any text, whatever the locale; open a stream that is closed on ``/dev/null``."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open to the end
        elif mode == "w" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
