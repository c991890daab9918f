"""The lines that show who wrote each line of a file."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.reading.when_said import said_at
from reel.reading.wording import cells, cut, pad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from reel.cli.screen.output import Line
    from reel.replies import Edit

# The width of a name, in columns; a longer one is cut.
_NAME = 24
# What stands for an edit that is not in its conversation now, and for a writer that is not known.
_GONE, _UNKNOWN = "gone", "-"


def blame_lines(
    lines: Iterable[tuple[int, str, Edit | None]], tools: Mapping[str, str], told: Callable[[int], str]
) -> Iterator[Line]:
    """Yield the lines of a file, each after the conversation, the message, the time and the tool that wrote it.

    Args:
        lines: for each line its number, its text and its writer.
        tools: the names of the tools, by the ids of the calls.
        told: lays out a time.
    """
    rows = [(_columns(writer, tools, told), number, text, writer) for number, text, writer in lines]
    widths = [max(map(cells, column)) for column in zip(*(row[0] for row in rows), strict=True)]
    digits = max((len(str(row[1])) for row in rows), default=0)
    for columns, number, text, writer in rows:
        before = "  ".join(pad(column, width) for column, width in zip(columns, widths, strict=True) if width)
        yield [(before, "assistant" if writer and writer.live else "dim"), (f"  {number:>{digits}}  ", "dim"), text]


def _columns(writer: Edit | None, tools: Mapping[str, str], told: Callable[[int], str]) -> tuple[str, ...]:
    if writer is None:
        return (_UNKNOWN, "", "", "", "")
    gone = "" if writer.live else _GONE
    return (cut(writer.name, _NAME), f"#{writer.seq}", told(said_at(writer)), tools.get(writer.call, ""), gone)
