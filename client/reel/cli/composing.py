"""The commands ``edit`` and ``draft``: a message that takes a while to write."""

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

from reel.cli.arguments import UsageError
from reel.cli.context import Context
from reel.cli.exits import OK, REFUSED
from reel.cli.files import keep_text
from reel.errors import ReelError
from reel.messages import text

# Seconds between two drafts, and between two of the same, for a daemon that came back.
_DRAFT_INTERVAL = 0.05
_REPEAT_INTERVAL = 5.0
# A draft may be long, but nobody reads more than its end.
_DRAFT_LENGTH = 100_000
_CHUNK = 1 << 16
# What $EDITOR is, if it is not set.
_EDITOR = "vi"


def edit(ctx: Context) -> int:
    """Have a message written and add it; a text that could not be added is kept."""
    # Who has written a long text should not learn only then that there is nobody to say it to.
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
        ctx.out.warn(f"{editor[0]} ended with status {status}; nothing was added")
        return REFUSED
    said = path.read_text(encoding="utf-8", errors="replace")
    if not said.strip():
        ctx.report({"agent": ctx.agent, "added": False}, f"{ctx.agent}: nothing written, nothing added")
        return OK
    message = text(ctx.args.role or "user", said.removesuffix("\n"))
    reply = ctx.client.add(ctx.agent, [message], if_seq=ctx.args.if_seq)
    ctx.report(reply, f"{ctx.agent}: added {reply.first}", "undo", ctx.agent)
    return OK


def _editor() -> list[str]:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _EDITOR
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"the editor {command!r} cannot be started: {error}") from None


def _run_editor(command: list[str]) -> int:
    """Run an editor; Ctrl-C belongs to it for as long as it runs."""
    # A handler, as the editor would inherit SIG_IGN.
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
    """Show a text until interrupted; or what stdin brings, as it comes, and in the end add it."""
    if ctx.word is not None and ctx.word != "-":
        _show_until_interrupted(ctx, ctx.word)
    if ctx.args.add:
        # What is streamed cannot be had again: who gets it is known before the first byte is read.
        ctx.client.agent(ctx.agent)
    if sys.stdin.isatty():
        ctx.out.hint("type it; the others see each line, and Ctrl-D ends it")
    said = _show_stdin(ctx)
    if not ctx.args.add:
        ctx.client.draft(ctx.agent, "")
        return
    if not said:
        raise UsageError("nothing came from stdin, and so there is nothing to add")
    _add_draft(ctx, said.removesuffix("\n"))


def _show_stdin(ctx: Context) -> str:
    """Show what comes from stdin as it comes; give all of it, though it could not be shown where it is to be added."""
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
        _report_kept(ctx, keep_text(f"{said}\n", ".md"))  # whose end goes again when it is read
        raise
    ctx.report(reply, f"{ctx.agent}: added {reply.first}", "undo", ctx.agent)


def _show_until_interrupted(ctx: Context, said: str) -> None:
    if ctx.args.add:
        raise UsageError("--add goes with a text from stdin; use: reel add")
    ctx.client.draft(ctx.agent, _tail(said))
    ctx.out.hint("shown until you press Ctrl-C")
    while True:
        time.sleep(_REPEAT_INTERVAL)  # nothing else happens here that would tell of a daemon that came back
        ctx.client.draft(ctx.agent, _tail(said))


def _tail(said: str) -> str:
    return said if len(said) <= _DRAFT_LENGTH else "…" + said[-_DRAFT_LENGTH:]


def _read_incrementally(stdin: int) -> Iterator[str]:
    """Give all that has come from stdin, whenever there is more of it, and once at its end."""
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
    """Say where a message's text is, and how it is added."""
    role = ["--role", ctx.args.role] if ctx.args.role else []
    ctx.out.warn(f"your text is kept; add it with: {ctx.command('add', ctx.agent, '-', *role)} < {path}")
