"""The commands ``edit`` and ``draft``: messages that take a while to write."""

import codecs
import os
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkstemp
from typing import NoReturn

from reel.cli.arguments import UsageError
from reel.cli.context import Context
from reel.cli.exits import OK, REFUSED
from reel.cli.files import keep_text
from reel.errors import ReelError
from reel.messages import text

# Seconds between two drafts, and until an unchanged one is sent again, in case the daemon was restarted.
_DRAFT_INTERVAL = 0.05
_REPEAT_INTERVAL = 5.0
# How many characters of its end are shown of a long draft; nobody reads more.
_DRAFT_LENGTH = 100_000
_CHUNK = 1 << 16
# The editor, if neither $VISUAL nor $EDITOR is set.
_EDITOR = "vi"


def edit(ctx: Context) -> int:
    """Let the user write a message in an editor, and add it. A text that cannot be added is saved."""
    # Fail before the text is written if there is no such agent.
    ctx.client.agent(ctx.agent)
    handle, name = mkstemp(prefix="reel-", suffix=".md")
    os.close(handle)
    path = Path(name)
    try:
        status = _add_written(ctx, path)
    except BaseException:
        _keep_written(ctx, path)
        raise
    path.unlink()
    return status


def _add_written(ctx: Context, path: Path) -> int:
    editor = _editor()
    if status := _run_editor([*editor, str(path)]):
        ctx.out.warn(f"{editor[0]} exited with status {status}; nothing was added")
        return REFUSED
    said = path.read_text(encoding="utf-8", errors="replace")
    if not said.strip():
        ctx.report({"agent": ctx.agent, "added": False}, f"{ctx.agent}: the text is empty; nothing was added")
        return OK
    message = text(ctx.args.role or "user", said.removesuffix("\n"))
    reply = ctx.client.add(ctx.agent, [message], if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: added #{reply.first}", "undo", ctx.agent)
    return OK


def _editor() -> list[str]:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _EDITOR
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"cannot start the editor {command!r}: {error}") from None


def _run_editor(command: list[str]) -> int:
    """Run an editor and return its exit status. While it runs, Ctrl-C belongs to it."""
    # A handler instead of SIG_IGN, which the editor would inherit.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run(command, check=False).returncode  # noqa: S603 - the user's own editor
    finally:
        signal.signal(signal.SIGINT, before)


def _keep_written(ctx: Context, path: Path) -> None:
    if path.stat().st_size:
        _report_kept(ctx, str(path))
    else:
        path.unlink()


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
        reply = ctx.client.add(ctx.agent, [text(ctx.args.role or "user", said)])
    except BaseException:
        _report_kept(ctx, keep_text(f"{said}\n", ".md"))  # reel add removes the last newline
        raise
    ctx.report(reply, f"{ctx.agent}: added #{reply.first}", "undo", ctx.agent)


def _show_until_interrupted(ctx: Context, said: str) -> NoReturn:
    if ctx.args.add:
        raise UsageError("--add takes its text from stdin; to add TEXT use: reel add")
    ctx.client.draft(ctx.agent, _tail(said))
    ctx.out.hint("shown until you press Ctrl-C")
    while True:
        time.sleep(_REPEAT_INTERVAL)  # nothing signals that the daemon was restarted
        ctx.client.draft(ctx.agent, _tail(said))


def _tail(said: str) -> str:
    return said if len(said) <= _DRAFT_LENGTH else "…" + said[-_DRAFT_LENGTH:]


def _read_incrementally(stdin: int) -> Iterator[str]:
    """Yield everything that has arrived on stdin, whenever there is more, and once at its end."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
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


def _report_kept(ctx: Context, path: str) -> None:
    """Print where a text was saved, and the command that adds it."""
    role = ["--role", ctx.args.role] if ctx.args.role else []
    ctx.out.warn(f"your text was saved; add it with: {ctx.command('add', ctx.agent, '-', *role)} < {path}")
