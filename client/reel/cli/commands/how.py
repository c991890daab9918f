"""The command ``how``."""

from __future__ import annotations

import os

from reel import requests
from reel.base.light_typing import TYPE_CHECKING
from reel.base.place import directories
from reel.cli.commands.shared.edits import PAGE, WAIT, tell_behind
from reel.cli.line.arguments import UsageError
from reel.cli.line.exits import OK, REFUSED
from reel.cli.screen.edit_lines import deed
from reel.reading.habits import chosen, following, habits
from reel.reading.wording import age, count, full_time
from reel.said.records import message_from_record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reel.cli.line.context import Context
    from reel.cli.screen.output import Line
    from reel.reading.habits import Habit
    from reel.replies import Edit
    from reel.touches.touch import Touch

# The newest runs of a command that are looked at, and the forms that are shown.
_RUNS, _FORMS = 1000, 5
# What the daemon takes.
_DIRECTORIES, _WORDS = 100, 256
# Events after one that failed that are looked at, and what is shown of them.
_EVENTS, _STEPS = 40, 5
_KINDS = ("assistant", "tool_call", "tool_result", "tool")


def how(ctx: Context) -> int:
    """Print how a command is run in this project, how it ended, and what followed where it failed."""
    words = " ".join(" ".join(ctx.words).split())
    if not 1 <= len(words) <= _WORDS:
        raise UsageError(f"expected the words of a command, 1 to {_WORDS} characters of them", "how")
    runs, behind = _runs(ctx, words)
    made = [(habit, _followed(ctx, habit.failed)) for habit in chosen(habits(runs), ctx.args.limit or _FORMS)]
    if ctx.out.as_json:
        ctx.out.documents(_document(habit, steps) for habit, steps in made)
    elif made:
        ctx.out.lines(line for habit, steps in made for line in _lines(ctx, habit, steps))
        newest = made[0][0].last
        ctx.out.hint(f"see it run with: {ctx.command('show', newest.name, str(newest.seq))}")
    elif ctx.out.terminal:
        where = "" if ctx.args.everywhere else " in this project; with --everywhere, all are looked through"
        ctx.out.warn(f"no conversation ran {words}{where}")
    tell_behind(ctx, behind)
    return OK if made else REFUSED


def _runs(ctx: Context, words: str) -> tuple[list[Edit], int]:
    """Return the newest runs of a command, and how many events the daemon has not looked at."""
    dirs = None if ctx.args.everywhere else directories(".")[:_DIRECTORIES]
    call = requests.edits(deed="ran", command=words, dirs=dirs, limit=PAGE, wait=WAIT)
    runs: list[Edit] = []
    behind = 0
    with ctx.out.waiting("searching"):
        for page in ctx.client.pages(call):
            runs += page.edits
            behind = page.behind
            if len(runs) >= _RUNS:
                break
    return runs[:_RUNS], behind


def _followed(ctx: Context, failed: Edit | None) -> list[Touch]:
    """Return what was done after a run that failed."""
    if failed is None:
        return []
    page = ctx.client.history(failed.agent, since=failed.seq, limit=_EVENTS, kinds=_KINDS)
    messages = [message for event in page.events if (message := message_from_record(event)) is not None]
    return list(following(messages, failed, _STEPS))


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
    ended = ", ".join(f"{'unknown' if each is None else each} ({times})" for each, times in habit.statuses.items())
    when = told(last.time if last.sent is None else last.sent)
    yield [
        "    ",
        (f"{count(habit.times, 'time')}, last {when} in {last.name} #{last.seq}; exit status {ended}", "dim"),
    ]
    if steps and habit.failed is not None:
        yield ["    ", (f"after exit status {habit.failed.status} in {habit.failed.name} #{habit.failed.seq}:", "dim")]
        yield from (["      ", *deed(step, os.getcwd())] for step in steps)
