"""The screen of ``reel top``: a summary, a table, and the keys that control it. No I/O."""

from __future__ import annotations

from collections.abc import Sequence

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.screen.keys import Key
from reel.cli.screen.output import cells_of, cut_line
from reel.cli.screen.top.tables import TABLES, chosen_rows, layout, rate, seconds
from reel.reading.wording import count, cut_front, duration, name_counts, size

if TYPE_CHECKING:
    from reel.cli.screen.output import Line, Span
    from reel.cli.screen.top.figures import Figures, Latency

_HELP = "q quit  Tab table  < > sort  r reverse  / filter  p pause  arrows scroll"
_SHORT_HELP = "q quit  Tab  < >  r  /  p"
_FILTER = "filter> "
_GAP = "   "
# The summary takes a third of the screen at most.
_SHARE = 3
_STEPS = {Key.UP: -1, Key.DOWN: 1, Key.PAGE_UP: -10, Key.PAGE_DOWN: 10}
# Columns for a part that is cut.
_LEAST_NAMES = 16
# Rows of each table that are printed if there is no screen.
_PRINTED = 10


class TopScreen:
    """The state of the screen: the table, its order, the filter, and the scroll position."""

    def __init__(self) -> None:
        self.figures: Figures | None = None
        # Why there are no newer figures.
        self.problem = ""
        self.paused = False
        self._table = 0
        self._sorted_by = [table.sorted_by for table in TABLES]
        self._reversed = [False for _ in TABLES]
        self._wanted = ""
        self._edits = False
        self._top = 0

    def press(self, key: Key | str) -> bool:
        """Take a key or a text; return whether it ends the command."""
        if self._edits:
            self._edit(key)
            return False
        if isinstance(key, str):
            return any([self._type(char) for char in key])  # noqa: C419 - each counts
        if key in (Key.ESCAPE, Key.END):
            return True
        if key is Key.TAB:
            self._table, self._top = (self._table + 1) % len(TABLES), 0
        else:
            self._top = max(self._top + _STEPS.get(key, 0), 0)
        return False

    def _type(self, char: str) -> bool:
        number = self._table
        if char in "<>":
            step = 1 if char == ">" else -1
            self._sorted_by[number] = (self._sorted_by[number] + step) % len(TABLES[number].columns)
        elif char == "r":
            self._reversed[number] = not self._reversed[number]
        elif char in "p ":
            self.paused = not self.paused
        elif char == "/":
            self._edits = True
        return char == "q"

    def _edit(self, key: Key | str) -> None:
        """Change the filter; Enter keeps it, Escape removes it."""
        if isinstance(key, str):
            self._wanted += key
        elif key is Key.BACKSPACE:
            self._wanted = self._wanted[:-1]
        elif key in (Key.DELETE_LINE, Key.DELETE_WORD):
            self._wanted = ""
        elif key in (Key.ENTER, Key.ESCAPE, Key.END):
            self._edits = False
            self._wanted = self._wanted if key is Key.ENTER else ""
        self._top = 0

    def lines(self, width: int, height: int) -> list[Line]:
        """Return the lines of the screen."""
        if self.figures is None:
            about: Span = (self.problem, "bad") if self.problem else ("waiting for the daemon", "dim")
            return [_fitted([about], width)]
        room = max((height - 1) // _SHARE, 1)
        above = [self._title(self.figures), *_summary(self.figures, width)][:room]
        body = self._body(self.figures, width, max(height - len(above) - 1, 0))
        return [_fitted(line, width) for line in [*above, *body, self._last(width)]][:height]

    def _title(self, figures: Figures) -> Line:
        if self.problem:
            return [(self.problem, "bad")]
        shown: Line = [("paused", "warn"), _GAP] if self.paused else []
        return [*shown, *title(figures)]

    def _body(self, figures: Figures, width: int, height: int) -> list[Line]:
        table, by, backwards = TABLES[self._table], self._sorted_by[self._table], self._reversed[self._table]
        rows = chosen_rows(table, figures, sorted_by=by, is_reversed=backwards, wanted=self._wanted)
        self._top = max(min(self._top, len(rows) - height + 1), 0)
        shown = rows[self._top : self._top + max(height - 1, 0)]
        lines = layout(table, shown, width, sorted_by=by, is_reversed=backwards)
        return [*lines, *([[]] * (height - len(lines)))][:height]

    def _last(self, width: int) -> Line:
        if self._edits:
            return [(_FILTER, "bold"), cut_front(f"{self._wanted}_", max(width - len(_FILTER), 1))]
        help_text = _HELP if len(_HELP) <= width else _SHORT_HELP
        wanted = f"{_FILTER}{self._wanted}{_GAP}" if self._wanted else ""
        return [(wanted + help_text, "dim")]


def frame(figures: Figures, width: int) -> list[Line]:
    """Return everything at once, for output that is not a terminal: the summary, and the first rows of each table."""
    lines = [title(figures), *_summary(figures, width)]
    for table in TABLES:
        rows = chosen_rows(table, figures, sorted_by=table.sorted_by)
        more = count(len(rows) - _PRINTED, "more row") if len(rows) > _PRINTED else ""
        lines += [[], *layout(table, rows[:_PRINTED], width), *_dim(more)]
    return [_fitted(line, width) for line in lines]


def _dim(text: str) -> list[Line]:
    return [[(text, "dim")]] if text else []


def title(figures: Figures) -> Line:
    """Return what the daemon is, and how long it has been running."""
    return [(f"reeld {figures.version}", "bold"), f"{_GAP}up {duration(figures.uptime)}"]


def _summary(figures: Figures, width: int) -> list[Line]:
    """Return the lines below the title, the most important first."""
    problems: list[Line] = [[(problem, "bad")] for problem in figures.problems]
    return [
        *problems,
        _joined("requests", _requests(figures), width),
        _joined("commits", _commits(figures), width),
        _joined("clients", _clients(figures), width),
        _joined("events", _events(figures), width),
        _joined("daemon", _daemon(figures), width),
    ]


def _times(latency: Latency) -> list[Span]:
    return [f"{rate(latency.per_second)}/s", f"p50 {seconds(latency.p50)}", f"p99 {seconds(latency.p99)}"]


def _requests(figures: Figures) -> list[Span]:
    refused, errors = figures.refused_per_second, figures.errors_per_second
    waiting = f"{figures.jobs_waiting:,} waiting"
    return [
        *_times(figures.requests),
        f"{figures.in_flight:,} in flight",
        (waiting, "warn") if figures.jobs_waiting else waiting,
        (f"{rate(refused)}/s refused", "bad") if refused else "0 refused",
        (f"{rate(errors)}/s errors", "warn") if errors else "0 errors",
    ]


def _commits(figures: Figures) -> list[Span]:
    each = figures.events_per_commit
    size_of_one = [] if each is None else [f"{rate(each)} events each"]
    return [*_times(figures.commits), *size_of_one, f"{figures.commits_waiting:,} waiting"]


def _clients(figures: Figures) -> list[Span]:
    names = name_counts(figures.follow_all)
    follow_all = [f"all followed by {names}"] if names else []
    return [
        f"{figures.connected:,} connected",
        count(figures.subscriptions, "subscription"),
        *follow_all,
        count(figures.drafts, "draft"),
        f"{size(figures.unread)} unread",
        name_counts([each.client for each in figures.connections]),
    ]


def _events(figures: Figures) -> list[Span]:
    behind = f"index {figures.search_behind:,} behind"
    return [
        f"{rate(figures.events_per_second)}/s",
        f"{figures.newest_event:,} in all",
        (behind, "warn") if figures.search_behind > figures.events_per_second * 2 else behind,
        *([] if figures.alive_agents is None else [f"{count(figures.alive_agents, 'conversation')} alive"]),
    ]


def _daemon(figures: Figures) -> list[Span]:
    hits = [] if figures.cache_hits is None else [f"{figures.cache_hits:.0%} of renderings kept"]
    return [
        f"cpu {figures.cpu:.0%}",
        f"memory {size(figures.memory)}",
        f"{count(figures.loaded_agents, 'conversation')} loaded ({size(figures.loaded_bytes)})",
        *hits,
    ]


def _joined(name: str, parts: Sequence[Span], width: int) -> Line:
    """Return a line with as many of the parts as fit, from the first; if some room is left, the last one is cut."""
    line: Line = [(f"{name:<10}", "dim")]
    for part in parts:
        longer: Line = [*line, *([_GAP] if len(line) > 1 else []), part]
        if cells_of(longer) > width and (part is not parts[-1] or cells_of(line) > width - _LEAST_NAMES):
            break
        line = longer
    return line


def _fitted(line: Line, width: int) -> Line:
    return line if cells_of(line) <= width else cut_line(line, width)
