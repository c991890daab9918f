"""The command ``how``."""

from __future__ import annotations

import os
from contextlib import suppress

from reel.base.light_typing import TYPE_CHECKING
from reel.base.place import directories
from reel.cli.commands.shared.edits import edits
from reel.cli.line.arguments import UsageError
from reel.cli.line.exits import OK, REFUSED
from reel.cli.screen.edit_lines import deed
from reel.reading.habits import chosen, following, habits
from reel.reading.when_said import said_at
from reel.reading.wording import age, count, full_time
from reel.said.blocks import InvalidRecord
from reel.said.records import message_from_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reel.cli.line.context import Context
    from reel.cli.screen.output import Line
    from reel.reading.habits import Habit
    from reel.replies import Edit
    from reel.said.messages import Event, Message
    from reel.touches.touch import Touch

# How many of the newest runs of a command are looked at, and how many forms are shown.
_RUNS, _FORMS = 1000, 5
# The most directories, and characters of a command, that the daemon accepts.
_DIRECTORIES, _WORDS = 100, 256
# How many events after a failed run are looked at, and how many steps of them are shown.
_EVENTS, _STEPS = 40, 5
_KINDS = ("assistant", "tool_call", "tool_result", "tool")


def how(ctx: Context) -> int:
    """Print how a command is run in this project, how it ended, and what followed where it failed."""
    words = " ".join(" ".join(ctx.words).split())
    if not 1 <= len(words) <= _WORDS:
        raise UsageError(f"expected the words of a command, 1 to {_WORDS} characters of them", "how")
    dirs = None if ctx.args.everywhere else directories(".")[:_DIRECTORIES]
    runs = edits(ctx, _RUNS, deed="ran", command=words, dirs=dirs)
    made = [(habit, _followed(ctx, habit.failed)) for habit in chosen(habits(runs), ctx.args.limit or _FORMS)]
    if ctx.out.as_json:
        ctx.out.documents(_document(habit, steps) for habit, steps in made)
    elif made:
        ctx.out.lines(line for habit, steps in made for line in _lines(ctx, habit, steps))
        newest = made[0][0].last
        place = [str(newest.seq)] if newest.live else ["--at", str(newest.seq)]
        ctx.out.hint(f"see it run with: {ctx.command('show', newest.name, *place)}")
    elif ctx.out.terminal:
        where = "" if ctx.args.everywhere else " in this project; with --everywhere, all are looked through"
        ctx.out.warn(f"no conversation ran {words}{where}")
    return OK if made else REFUSED


def _followed(ctx: Context, failed: Edit | None) -> list[Touch]:
    """Return what was done after a run that failed."""
    if failed is None:
        return []
    page = ctx.client.history(failed.agent, since=failed.seq, limit=_EVENTS, kinds=_KINDS)
    return list(following(_messages(page.events), failed, _STEPS))


def _messages(events: Iterable[Event]) -> Iterator[Message]:
    for event in events:
        with suppress(InvalidRecord):  # what a damaged one did is unknown
            if (message := message_from_record(event)) is not None:
                yield message


def _document(habit: Habit, steps: list[Touch]) -> dict[str, object]:
    statuses = [{"status": status, "times": times} for status, times in habit.statuses.items()]
    followed = [
        {"deed": step.deed, "path": step.path, "command": step.command, "status": step.status} for step in steps
    ]
    last, failed = (run and _place(run) for run in (habit.last, habit.failed))
    return {
        "command": habit.command,
        "times": habit.times,
        "statuses": statuses,
        "last": last,
        "failed": failed,
        "followed": followed,
    }


def _place(run: Edit) -> dict[str, object]:
    named = ("agent", "name", "seq", "time", "sent", "live", "path", "command", "status")
    return {field: getattr(run, field) for field in named}


def _lines(ctx: Context, habit: Habit, steps: list[Touch]) -> Iterator[Line]:
    told = age if ctx.out.terminal else full_time
    last = habit.last
    yield [(habit.command, "heading")]
    times, when = count(habit.times, "time"), told(said_at(last))
    yield ["    ", (f"{times}, last {when} in {last.name} #{last.seq}; exit status {_ended(habit)}", "dim")]
    if steps and habit.failed is not None:
        yield ["    ", (f"after exit status {habit.failed.status} in {habit.failed.name} #{habit.failed.seq}:", "dim")]
        yield from (["      ", *deed(step, os.getcwd())] for step in steps)


def _ended(habit: Habit) -> str:
    """Return the exit statuses of a command, each with how often it ended so unless it always did."""
    named = {"unknown" if status is None else f"{status}": times for status, times in habit.statuses.items()}
    return next(iter(named)) if len(named) == 1 else ", ".join(f"{name} ({times})" for name, times in named.items())
