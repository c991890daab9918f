"""How a command is run: its forms, how they ended, and what followed where one failed.

A form is a command without what only leads to it, such as a ``cd`` into the project, or only shortens its output.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.reading.when_said import said_at
from reel.reading.wording import flat
from reel.replies import Edit
from reel.touches.reading import touches
from reel.touches.touch import Touch

# The most characters of a form.
_FORM = 1000
_LEADS = re.compile(r"^cd (?:'[^']*'|\"[^\"]*\"|[^\s&;|]+) && ")
_SHORTENS = re.compile(r"(?: \|&? (?:head|tail|less|cat)(?: [-+\w]+)*)+$")
_JOINS = re.compile(r" 2>&1$")


class Habit(NamedTuple):
    """A form of a command.

    Args:
        command: the form.
        times: how often it was run.
        statuses: how often it ended with each exit status; ``None`` where that is not known.
        last: the newest run.
        failed: the newest run that failed; ``None`` if none did.
    """

    command: str
    times: int
    statuses: dict[int | None, int]
    last: Edit
    failed: Edit | None


def form_of(command: str) -> tuple[str, bool]:
    """Return the form of a command, and whether its exit status is that of the form: a pipe ends as its last part."""
    whole = _LEADS.sub("", flat(command, _FORM))
    short = _SHORTENS.sub("", whole)
    return _JOINS.sub("", short), short == whole


def habits(runs: Iterable[Edit]) -> list[Habit]:
    """Return the forms of commands, the most frequent first; of equally frequent ones, the newest first.

    Args:
        runs: commands that were run, the newest first.
    """
    found: dict[str, list[tuple[Edit, int | None]]] = {}
    for run in runs:
        form, is_own = form_of(run.command or "")
        found.setdefault(form, []).append((run, run.status if is_own else None))
    made = [
        Habit(
            form,
            len(those),
            dict(Counter(status for _, status in those).most_common()),
            those[0][0],
            next((run for run, status in those if status), None),
        )
        for form, those in found.items()
    ]
    return sorted(made, key=lambda habit: -habit.times)


def chosen(made: Sequence[Habit], limit: int) -> list[Habit]:
    """Return the most frequent forms; the newest one takes the last place if it is not among them."""
    newest = max(made, key=lambda habit: said_at(habit.last), default=None)
    first = list(made[:limit])
    return first if newest is None or newest in first else [*first[:-1], newest]


def following(messages: Iterable[Mapping[str, Any]], run: Edit, most: int) -> Iterator[Touch]:
    """Yield what was done after a command, until it was run again in some form.

    Args:
        messages: the messages after the one with its call, in order.
        run: the command.
        most: how many touches are yielded at most.
    """
    form, _ = form_of(run.command or "")
    blocks = [block for message in messages for block in message["content"]]
    results = {block["tool_call_id"]: block for block in blocks if block["type"] == "tool_result"}
    done = [
        touch for block in blocks if block["type"] == "tool_call" for touch in touches(block, results.get(block["id"]))
    ]
    for touch in done[:most]:
        yield touch
        if touch.command is not None and form_of(touch.command)[0] == form:
            return
