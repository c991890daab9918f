"""What ``reel import`` says of a tool when it has read its history: what became of it, for people and for programs."""

from collections.abc import Iterator
from typing import Any

from reel.cli.commands.shared.histories import History
from reel.cli.line.context import Context
from reel.cli.screen.folding import fold
from reel.cli.screen.output import Line
from reel.importing.adding.importer import Totals
from reel.importing.steps import UNREADABLE, Counts, Problem
from reel.reading.wording import count

# How many of the problems of a tool are shown.
_PROBLEMS = 10
# How many kinds of records or fields are listed.
_KINDS = 10
# The indentation of the second line of what is said of the records.
_HANG = 4
# Rules whose names, which programs read, say less to a person.
_IN_WORDS = {"shown to the person, and also an item": "repeats of other records"}


def report(ctx: Context, history: History, totals: Totals) -> None:
    """Print what became of the sources of a tool."""
    counts = totals.counts
    for problem in history.problems:
        counts.problem(problem)
    if ctx.out.as_json:
        ctx.out.document(_document(history, totals))
        return
    ctx.out.line((history.tool.title, "bold"), f": {_outcome(totals, dry=ctx.args.dry_run)}")
    if totals.messages:
        for text in _of_records(totals, dry=ctx.args.dry_run):
            line: Line = [f"  {text}"]
            ctx.out.lines(fold(line, ctx.out.current_width(), _HANG) if ctx.out.terminal else [line])
    for name, made in totals.beside:
        ctx.out.line(f"  {name} was changed here; what is new is in {made}")
    for name in totals.killed:
        ctx.out.line(f"  {name} was killed here, and was left alone")
    for name in totals.purged:
        again = ctx.command("import", "--restore-purged")
        ctx.out.line(f"  {name} was purged here, and stays away; bring it back with: {again}")
    warn(ctx, [*counts.problems, *totals.still_broken], counts.more_problems)


def _outcome(totals: Totals, *, dry: bool) -> str:
    if not totals.new and not totals.grown and not totals.changed:
        return f"nothing new in {count(totals.unchanged, 'conversation')}" if totals.unchanged else "nothing new"
    parts = [f"{count(totals.new, 'conversation')} {'found' if dry else 'imported'}"] if totals.new else []
    parts += [f"{totals.grown:,} went on"] if totals.grown else []
    parts += [f"{totals.changed:,} changed, not imported"] if totals.changed else []
    parts += [f"{totals.unchanged:,} unchanged"] if totals.unchanged else []
    return f"{', '.join(parts)}; {count(totals.messages, 'message')}"


def _of_records(totals: Totals, *, dry: bool) -> Iterator[str]:
    """Yield what became of the records, and what was damaged, left out or secret in them, a line each."""
    counts = totals.counts
    yield _accounting(counts)
    if counts.refused:
        yield f"{count(counts.refused.total(), 'damaged part')} in them, kept whole ({_listed(dict(counts.refused))})"
    if counts.left_out:
        yield f"{count(counts.left_out.total(), 'field')} of them left out ({_listed(dict(counts.left_out))})"
    if totals.secrets:
        yield _secrets(totals, dry=dry)


def _accounting(counts: Counts) -> str:
    parts = [f"{counts.mapped:,} used", *([f"{counts.known:,} known"] if counts.known else [])]
    unreadable = {kind: number for kind, number in counts.unknown.items() if kind in UNREADABLE}
    unknown = {kind: number for kind, number in counts.unknown.items() if kind not in UNREADABLE}
    for what, found in (
        ("ignored", dict(counts.ignored)),
        ("unknown, kept as notes", unknown),
        ("unreadable", unreadable),
    ):
        if found:
            parts.append(f"{sum(found.values()):,} {what} ({_by_kind(found)})")
    return f"{count(counts.read, 'record')}: {', '.join(parts)}"


def _by_kind(found: dict[str, int]) -> str:
    """Return how many records of each kind there are; of the only kind, the number was said already."""
    named = {_IN_WORDS.get(kind, kind): number for kind, number in found.items()}
    return next(iter(named)) if len(named) == 1 else _listed(named)


def _secrets(totals: Totals, *, dry: bool) -> str:
    what = " masked" if totals.is_masked else "" if dry else " stay in them; list them with: reel secrets"
    return f"{count(totals.secrets.total(), 'secret')} ({_listed(dict(totals.secrets))}){what}"


def _listed(found: dict[str, int]) -> str:
    listed = [f"{name} {number:,}" for name, number in sorted(found.items(), key=lambda item: (-item[1], item[0]))]
    return ", ".join([*listed[:_KINDS], *([f"{len(listed) - _KINDS} more kinds"] if len(listed) > _KINDS else [])])


def warn(ctx: Context, problems: list[Problem], more: int = 0) -> None:
    """Print the first of some problems, and how many more there are."""
    for problem in problems[:_PROBLEMS]:
        ctx.out.warn(str(problem))
    if left := more + max(len(problems) - _PROBLEMS, 0):
        ctx.out.warn(f"and {count(left, 'problem')} more")


def _document(history: History, totals: Totals) -> dict[str, Any]:
    counts = totals.counts
    return {
        "tool": history.tool.name,
        "sources": totals.sources,
        "bytes": totals.bytes,
        "new": totals.new,
        "grown": totals.grown,
        "changed": totals.changed,
        "unchanged": totals.unchanged,
        "empty": totals.empty,
        "messages": totals.messages,
        "known": totals.known,
        "records": {
            "read": counts.read,
            "mapped": counts.mapped,
            "known": counts.known,
            "ignored": dict(counts.ignored),
            "unknown": dict(counts.unknown),
            "refused": dict(counts.refused),
            "left_out": dict(counts.left_out),
        },
        "secrets": dict(totals.secrets),
        "beside": [{"conversation": name, "agent": made} for name, made in totals.beside],
        "killed": totals.killed,
        "purged": totals.purged,
        "problems": [str(problem) for problem in (*counts.problems, *totals.still_broken)],
        "more_problems": counts.more_problems,
    }
