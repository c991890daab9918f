"""The command ``import``: bring the histories of other tools in."""

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Self

from reel.base.errors import NotRunning
from reel.cli.commands.shared import search_index
from reel.cli.commands.shared.histories import History, look, note
from reel.cli.commands.shared.import_report import report, warn
from reel.cli.commands.shared.import_secrets import maskings, mode_of
from reel.cli.commands.shared.kept_originals import Keep, follow_erasures, has_originals, kept_originals
from reel.cli.commands.shared.watcher import only_import, only_watcher
from reel.cli.commands.shared.watching import Watch, connected
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import INTERRUPTED, OK, REFUSED
from reel.cli.line.suggestions import like
from reel.cli.screen.output import Line
from reel.daemon.address import state_directory
from reel.daemon.peer import RECONNECT_SECONDS
from reel.importing import MODULES, tool_named
from reel.importing.adding.importer import Importer, Totals
from reel.importing.adding.masking import Masking
from reel.importing.adding.pipeline import Pipeline
from reel.importing.adding.seen import Seen
from reel.importing.adding.stretch import too_old
from reel.importing.adding.target import CLIENT
from reel.importing.adding.tombstones import NAME as TOMBSTONES
from reel.importing.adding.tombstones import Tombstones
from reel.importing.batches import batches
from reel.importing.steps import WITHOUT_MESSAGE, About, Compacted, Problem, Said, Tool
from reel.importing.tools.reel_log.importer import LogImporter
from reel.reading.wording import age, count, duration, full_time, pad, size
from reel.sync.client import Client

# Seconds between two updates of the progress.
_UPDATE = 0.2
_NANOSECONDS_PER_MILLISECOND = 1_000_000
# The daemon, and who works with it, come first. Where an import had as much of two processors as they, one of a hundred
# adds of another client waited for twice as long.
_NICE = 5


def import_histories(ctx: Context) -> int:
    """Import the histories of one tool, or of all tools that are found."""
    named, paths = bool(ctx.words), [Path(word) for word in ctx.words[1:]]
    tools = [_tool(ctx, ctx.words[0])] if named else [tool_named(name) for name in MODULES]
    histories = [look(tool, paths) for tool in tools]
    found = [history for history in histories if history.sources]
    if not found and not _may_wait(ctx, tools, paths):
        return _nothing(ctx, histories, paths)
    for history in histories:
        if not history.sources and not ctx.args.watch:
            warn(ctx, history.problems)
    if found and not ctx.out.as_json and not named:
        ctx.out.lines(_table(ctx, found))
    if ctx.args.dry_run:
        return _report_all(ctx, ((history, _dry_run(history, Masking(mode_of(ctx)))) for history in found))
    if found and not named and not _agreed(ctx, found):
        return REFUSED
    new_masking = maskings(ctx)
    hello = connected(ctx) if ctx.args.watch else ctx.client.connect().server
    if hello is not None and "append" not in hello.features:
        raise too_old()
    os.setpriority(os.PRIO_PROCESS, 0, max(_NICE, os.getpriority(os.PRIO_PROCESS, 0)))
    # What watches reports a lost connection at once, and waits for the daemon by itself.
    patience = 0 if ctx.args.watch else RECONNECT_SECONDS
    with Pipeline(Client(ctx.socket, name=CLIENT, patience=patience)) as pipeline, kept_originals(ctx) as keep:
        if ctx.args.watch:
            seen = Seen(_seen_path())
            return _watch(ctx, partial(_import, ctx, pipeline, seen, new_masking, keep), tools, paths)
        with only_import(ctx):
            seen = Seen(_seen_path())
            imported = ((history, _import(ctx, pipeline, seen, new_masking, keep, history)) for history in found)
            status = _report_all(ctx, imported)
        if status != INTERRUPTED:
            sys.stdout.flush()
            with suppress(NotRunning):  # what was imported is stored, even if the daemon is gone by now
                search_index.wait_until_found(pipeline.stats, search_index.PATIENCE)
        return status


def _seen_path() -> str:
    return f"{state_directory()}/imported.json"


def _may_wait(ctx: Context, tools: list[Tool], paths: list[Path]) -> bool:
    """Return whether to wait for a tool that has written nothing yet."""
    is_agreed = ctx.args.yes or ctx.words
    return bool(ctx.args.watch and is_agreed and not paths and any(list(tool.places(os.environ)) for tool in tools))


def _tool(ctx: Context, name: str) -> Tool:
    if name not in MODULES:
        if os.sep in name or os.path.isfile(name):
            raise UsageError(f"{name} is a path; name its tool first: {ctx.command('import', 'TOOL', *ctx.words)}")
        begins = {module.partition("-")[0]: module for module in reversed(MODULES)}  # claude is claude-code
        meant = like(name, [*MODULES, *begins])
        for begin, whole in begins.items():
            meant = meant.replace(f"mean {begin}?", f"mean {whole}?")
        raise UsageError(f"{name!r} is not one of {', '.join(MODULES)}{meant}")
    return tool_named(name)


def _nothing(ctx: Context, histories: list[History], paths: list[Path]) -> int:
    for history in histories:
        warn(ctx, history.problems)
    if ctx.words:
        (tool,) = (history.tool for history in histories)
        if where := ", ".join(map(str, paths or tool.places(os.environ))):
            ctx.out.warn(f"no conversation of {tool.title} in {where}")
        else:
            command = ctx.command("import", tool.name, "PATH")
            ctx.out.warn(f"{tool.title} has no usual place for its conversations; name a file or directory: {command}")
    else:
        ctx.out.warn(f"no history of a tool was found; name one and its files: {ctx.command('import', 'TOOL', 'PATH')}")
    return REFUSED


def _table(ctx: Context, found: list[History]) -> Iterator[Line]:
    """Lay out the findings: tool, number of conversations, size, and the newest change."""
    when = age if ctx.out.terminal else full_time
    rows = [("TOOL", "CONVERSATIONS", "SIZE", "NEWEST")] if ctx.out.terminal else []
    rows += [
        (
            history.tool.name,
            f"{history.conversations:,}",
            size(sum(source.size for source in history.sources)),
            when(max(source.modified for source in history.sources) // _NANOSECONDS_PER_MILLISECOND),
        )
        for history in found
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for number, row in enumerate(rows):
        line = "  ".join(pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
        yield [(line, "dim" if ctx.out.terminal and not number else "")]


def _agreed(ctx: Context, found: list[History]) -> bool:
    """Ask whether to import all of it."""
    if ctx.args.yes:
        return True
    if not (sys.stdin.isatty() and ctx.out.tells_a_person):
        ctx.out.warn(f"nothing was imported; import all of it with: {ctx.command('import', '--yes')}")
        return False
    total = sum(history.conversations for history in found)
    try:
        answer = input(f"Import {count(total, 'conversation')}? [Y/n] ")
    except EOFError:
        return False
    return answer.strip().lower() in ("", "y", "yes")


def _dry_run(history: History, masking: Masking) -> Totals:
    """Read everything, and count it."""
    totals = Totals()
    for source in history.sources:
        reading = history.tool.open(source)
        part, said = "", Counter[str]()
        try:
            for batch in batches(reading):
                for step in masking.steps(batch):
                    if isinstance(step, About):
                        part = step.part
                    said[part] += isinstance(step, Said | Compacted)
        except OSError as error:
            totals.incomplete += 1
            reading.counts.problem(Problem(source.path, 0, error.strerror or str(error)))
        totals.messages += said.total()
        conversations = sum(map(bool, said.values()))
        totals.empty += not conversations
        if not conversations:
            reading.counts.disuse(WITHOUT_MESSAGE)
        totals.new += conversations
        totals.sources += 1
        totals.bytes += source.size
        totals.counts.add(reading.counts)
    totals.secrets = masking.found
    return totals


def _import(
    ctx: Context, pipeline: Pipeline, seen: Seen, new_masking: Callable[[], Masking], keep: Keep, history: History
) -> Totals:
    """Import the conversations of a tool; Ctrl-C ends it, and keeps what was imported."""
    if not history.sources:  # of a tool that is watched
        note(ctx, history, Totals())
        return Totals()
    is_own = history.tool.name == "reel"
    stones = Tombstones(f"{state_directory()}/{TOMBSTONES}", str(ctx.socket))
    masking, restore = new_masking(), ctx.args.restore_purged
    importer = (
        LogImporter(pipeline, history.sources, masking)
        if is_own
        else Importer(pipeline, seen, stones, restore=restore, masking=masking)
    )
    try:
        importer.look()
        if isinstance(importer, Importer) and has_originals():
            importer.note_redactions(history.tool)
        with _Progress(ctx, history) as progress:
            for totals in importer.run(history.tool, history.sources):
                progress.show(totals)
    except KeyboardInterrupt:
        importer.totals.interrupted = True
        importer.settle(history.tool)
    finally:
        seen.save()
        stones.remove(importer.totals.restored)
    importer.totals.secrets, importer.totals.is_masked = masking.found, masking.is_masking
    if not importer.totals.interrupted:
        follow_erasures(ctx, history.tool, history.sources, importer.totals)
        history.problems.extend(keep(history.tool, history.sources))
        note(ctx, history, importer.totals)
    return importer.totals


class _Progress:
    """One line on a terminal, which says how far the import is."""

    def __init__(self, ctx: Context, history: History) -> None:
        self._out = ctx.out
        self._name = history.tool.name
        self._all = len(history.sources)
        self._bytes = sum(source.size for source in history.sources)
        self._began = self._shown = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._out.transient(())

    def show(self, totals: Totals) -> None:
        """Show how far it is, unless that was done a moment ago."""
        now = time.monotonic()
        if now - self._shown < _UPDATE or self._out.as_json:
            return
        self._shown = now
        rate = totals.bytes / (now - self._began)
        left = f", {duration((self._bytes - totals.bytes) / rate)} left" if rate else ""
        done = f"{totals.sources:,} of {self._all:,} read, {count(totals.messages, 'message')}"
        self._out.transient([(f"{self._name}: {done}, {size(int(rate))}/s{left}", "dim")])


def _watch(ctx: Context, bring_in: Callable[[History], Totals], tools: list[Tool], paths: list[Path]) -> int:
    """Import everything, and then whatever is written, until Ctrl-C; of all tools, one process at a time does."""

    def bring_in_alone(history: History) -> Totals:
        with only_import(ctx):
            return bring_in(history)

    watch = Watch(ctx, partial(look, paths=paths), bring_in_alone, partial(report, ctx))
    with nullcontext() if ctx.words else only_watcher(ctx):
        return watch.run(tools)


def _report_all(ctx: Context, results: Iterable[tuple[History, Totals]]) -> int:
    status = OK
    for history, totals in results:
        report(ctx, history, totals)
        if totals.interrupted:
            ctx.out.warn(f"interrupted; what is in stays, go on with: {ctx.command('import', history.tool.name)}")
            return INTERRUPTED
        if ctx.words and totals.empty == totals.sources:  # of all tools, some may not have been used yet
            ctx.out.warn(f"no conversation of {history.tool.title} in {count(totals.sources, 'file')}")
            status = REFUSED
        if totals.incomplete:  # scripts see the status, not the report
            status = REFUSED
    return status
