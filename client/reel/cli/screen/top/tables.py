"""The tables of ``reel top``: their columns, in which order rows are sorted, and how they fit into a width. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.cli.screen.top.figures import AgentFigures, ConnectionFigures, Figures, MethodFigures
from reel.reading.wording import age, cells, cut, latency, name_counts, pad, size

if TYPE_CHECKING:
    from typing import Any

    from reel.cli.screen.output import Line

_GAP = 2
_TEN = 10
# The first column, which has the name, is never narrower.
_NAME = 12
_MOST_NAME = 40


class Column(NamedTuple):
    """A column of a table.

    Args:
        title: its heading.
        text: returns the text of a row.
        order: by what rows are sorted.
        width: how many columns of the screen it takes; 0 for the remaining ones.
        left: whether it has words, which are aligned to the left, and at which a filter looks.
        rank: columns of a higher rank are left out first if there is no room.
    """

    title: str
    text: Callable[[Any], str]
    order: Callable[[Any], Any]
    width: int
    left: bool = False
    rank: int = 0


class Table(NamedTuple):
    """A table: its name, its columns, which of them it is sorted by, and its rows."""

    name: str
    columns: tuple[Column, ...]
    sorted_by: int
    rows: Callable[[Figures], Sequence[Any]]


def rate(value: float | None) -> str:
    """Return how often something happens in a second, with two digits at least; a dot if that is not known."""
    if value is None:
        return "·"
    return f"{value:.1f}" if 0 < value < _TEN else f"{value:,.0f}"


def seconds(value: float | None) -> str:
    """Return a time as it is shown; a dash if nothing happened."""
    return "-" if value is None else latency(value)


def _some(number: int) -> str:
    return f"{number:,}" if number else ""


def _order(value: float | None) -> float:
    return -1.0 if value is None else value


AGENTS = Table(
    "agents",
    (
        Column("CONVERSATION", lambda row: row.name, lambda row: row.name, 0, left=True),
        Column("EVENTS/S", lambda row: rate(row.per_second), lambda row: _order(row.per_second), 9),
        Column("LAST", lambda row: age(row.updated), lambda row: row.updated, 5),
        Column("SEQ", lambda row: f"{row.seq}", lambda row: row.seq, 7, rank=3),
        Column("WAIT", lambda row: _some(row.waiting), lambda row: row.waiting, 5),
        Column(
            "FOLLOWERS", lambda row: name_counts(row.followers), lambda row: len(row.followers), 14, left=True, rank=1
        ),
        Column("TYPING", lambda row: name_counts(row.typing), lambda row: len(row.typing), 8, left=True, rank=2),
    ),
    1,
    lambda figures: figures.agents,
)
METHODS = Table(
    "methods",
    (
        Column("METHOD", lambda row: row.name, lambda row: row.name, 0, left=True),
        Column("REQUESTS/S", lambda row: rate(row.latency.per_second), lambda row: row.latency.per_second, 11),
        Column("P50", lambda row: seconds(row.latency.p50), lambda row: _order(row.latency.p50), 7),
        Column("P99", lambda row: seconds(row.latency.p99), lambda row: _order(row.latency.p99), 7),
        Column("IN ALL", lambda row: f"{row.total:,}", lambda row: row.total, 12, rank=1),
    ),
    1,
    lambda figures: figures.methods,
)
CONNECTIONS = Table(
    "connections",
    (
        Column("CLIENT", lambda row: f"{row.client} #{row.number}", lambda row: row.client, 0, left=True),
        Column("REQUESTS/S", lambda row: rate(row.per_second), lambda row: _order(row.per_second), 11),
        Column("OPEN", lambda row: _some(row.in_flight), lambda row: row.in_flight, 5),
        Column("UNREAD", lambda row: size(row.unread) if row.unread else "", lambda row: row.unread, 8),
        Column("SUBSCRIPTIONS", lambda row: _some(row.subscriptions), lambda row: row.subscriptions, 14, rank=1),
        Column("PID", lambda row: "" if row.pid is None else f"{row.pid}", lambda row: row.pid or 0, 7, rank=2),
    ),
    1,
    lambda figures: figures.connections,
)
TABLES = (AGENTS, METHODS, CONNECTIONS)


def chosen_rows(
    table: Table, figures: Figures, *, sorted_by: int, is_reversed: bool = False, wanted: str = ""
) -> list[AgentFigures | MethodFigures | ConnectionFigures]:
    """Return the rows whose line has a text, sorted by a column: the first one from A, others from the largest."""
    name, column = table.columns[0], table.columns[sorted_by]
    rows = [row for row in table.rows(figures) if wanted.lower() in _text_of(table, row).lower()]
    rows.sort(key=name.order)
    rows.sort(key=column.order, reverse=bool(sorted_by) != is_reversed)
    return rows


def _text_of(table: Table, row: Any) -> str:
    """Return the text that a filter searches: the texts of a row, and not its figures."""
    return " ".join(column.text(row) for column in table.columns if column.left)


def layout(
    table: Table, rows: Sequence[Any], width: int, *, sorted_by: int | None = None, is_reversed: bool = False
) -> list[Line]:
    """Return the heading and the lines of rows, as wide as the screen if the name of a row fits on it at all."""
    columns = _fitting(table.columns, width)
    rest = sum(column.width + _GAP for column in columns)
    first = max(min(width - rest, _MOST_NAME), 1)
    widths = [column.width or first for column in columns]
    marks = {None if sorted_by is None else table.columns[sorted_by].title: "▴" if is_reversed else "▾"}
    titles = [column.title + marks.get(column.title, "") for column in columns]
    heading = _line(titles, columns, widths)
    return [[(heading, "heading")], *_lines(columns, widths, rows)]


def _lines(columns: Sequence[Column], widths: Sequence[int], rows: Sequence[Any]) -> Iterator[Line]:
    for row in rows:
        yield [_line([column.text(row) for column in columns], columns, widths)]


def _fitting(columns: Sequence[Column], width: int) -> list[Column]:
    """Leave out the columns of the highest rank until the rest fits; the name always stays."""
    left = list(columns)
    while len(left) > 1 and _NAME + sum(column.width + _GAP for column in left if column.width) > width:
        left.remove(max(left[1:], key=lambda column: (column.rank, left.index(column))))
    return left


def _line(texts: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    shown = []
    for text, column, width in zip(texts, columns, widths, strict=True):
        fitting = cut(text, width)
        shown.append(pad(fitting, width) if column.left else " " * (width - cells(fitting)) + fitting)
    return (" " * _GAP).join(shown).rstrip()
