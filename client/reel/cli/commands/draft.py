"""The command ``draft``: a text that is shown while it is written."""

import codecs
import os
import select
import sys
import time
from collections.abc import Iterator
from typing import NoReturn

from reel.base.errors import ReelError
from reel.base.values import clean
from reel.cli.commands.edit import add_written, report_added, report_kept
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.files import keep_text

# Seconds between two drafts, and until an unchanged one is sent again, in case the daemon was restarted.
_DRAFT_INTERVAL = 0.05
_REPEAT_INTERVAL = 5.0
# How many characters at the end of a long draft are shown; nobody reads more.
_DRAFT_LENGTH = 100_000
_CHUNK = 1 << 16


def draft(ctx: Context) -> None:
    """Show a text until interrupted, or stdin as it arrives; with ``--add``, add it at the end."""
    if ctx.word is not None and ctx.word != "-":
        _show_until_interrupted(ctx, ctx.word)
    if ctx.args.add:
        # A stream cannot be read twice: fail before its first byte is read if there is no such agent.
        ctx.client.agent(ctx.agent)
    if sys.stdin.isatty():
        ctx.out.hint("type your text; others see each line; end it with Ctrl-D")
    said = _show_stdin(ctx)
    if not ctx.args.add:
        ctx.client.draft(ctx.agent, "")
        return
    if not said:
        raise UsageError("stdin was empty; there is nothing to add")
    _add_draft(ctx, said.removesuffix("\n"))


def _show_stdin(ctx: Context) -> str:
    """Show stdin as it arrives, and return all of it. If it is to be added, go on even if it cannot be shown."""
    said, shown = "", True
    for said in _read_incrementally(sys.stdin.fileno()):
        if not shown:
            continue
        try:
            ctx.client.draft(ctx.agent, _tail(said))
        except ReelError:
            if not ctx.args.add:
                raise
            shown = False
    return said


def _add_draft(ctx: Context, said: str) -> None:
    try:
        reply = add_written(ctx, said)
    except BaseException:
        report_kept(ctx, keep_text(f"{said}\n", ".md"))  # reel add removes the last newline
        raise
    report_added(ctx, reply)


def _show_until_interrupted(ctx: Context, said: str) -> NoReturn:
    if ctx.args.add:
        raise UsageError("--add takes its text from stdin; to add TEXT use: reel add")
    ctx.client.draft(ctx.agent, _tail(said))
    ctx.out.hint("shown until you press Ctrl-C")
    while True:
        time.sleep(_REPEAT_INTERVAL)  # nothing signals that the daemon was restarted
        ctx.client.draft(ctx.agent, _tail(said))


def _tail(said: str) -> str:
    return clean(said if len(said) <= _DRAFT_LENGTH else "…" + said[-_DRAFT_LENGTH:])[0]


def _read_incrementally(stdin: int) -> Iterator[str]:
    """Yield everything that has arrived on stdin, whenever there is more, and once at its end.

    Bytes that are not UTF-8 become lone surrogates, so that they are counted when they are replaced.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    said, given, due = "", "", 0.0
    while True:
        left = None if said == given else max(due - time.monotonic(), 0.0)
        if select.select([stdin], [], [], left)[0]:
            chunk = os.read(stdin, _CHUNK)
            said += decoder.decode(chunk, final=not chunk)
            if not chunk:
                break
        if said != given and time.monotonic() >= due:
            yield said
            given, due = said, time.monotonic() + _DRAFT_INTERVAL
    yield said
