"""The commands ``edit`` and ``draft``: messages that take a while to write."""

import codecs
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from typing import NoReturn

from reel.base.errors import ReelError
from reel.base.values import clean
from reel.cli.commands.add import note_altered
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED, describe_end
from reel.cli.line.files import keep_text
from reel.cli.screen.output import render
from reel.replies import Added
from reel.said.new_messages import text

# Seconds between two drafts, and until an unchanged one is sent again, in case the daemon was restarted.
_DRAFT_INTERVAL = 0.05
_REPEAT_INTERVAL = 5.0
# How many characters at the end of a long draft are shown; nobody reads more.
_DRAFT_LENGTH = 100_000
_CHUNK = 1 << 16
# The editor, if neither $VISUAL nor $EDITOR is set.
_EDITOR = "vi"
# The cut line, and how many lines of the last message are shown below it.
_CUT = "------------------------ >8 ------------------------"
_QUOTED = 300
# What Vim and Emacs would read as a setting; the text of a conversation must not change an editor.
_MODELINE = re.compile(r"((?:^|\s)(?:vi|vim|Vim|ex)[<=>]?\d*|Local Variables):")


def edit(ctx: Context) -> int:
    """Let the user write a message in an editor, and add it. A text that cannot be added is saved."""
    template = _template(
        ctx, ctx.agent, ctx.args.role or "user"
    )  # fails before the text is written if there is no such agent
    with _written(ctx, template) as (status, said):
        if status or said is None:
            nothing = f"{ctx.agent}: the text is empty; nothing was added"
            if not status:
                ctx.report({"agent": ctx.agent, "added": False}, nothing)
            return status
        reply = _add(ctx, said, if_seq=ctx.args.if_seq)
    _report_added(ctx, reply)
    return OK


def _add(ctx: Context, said: str, *, if_seq: int | None = None) -> Added:
    """Add a message of ``--role``; the reply counts everything that was replaced in it, here or by the daemon."""
    message, replaced = clean(said)
    reply = ctx.client.add(ctx.agent, [text(ctx.args.role or "user", message)], if_seq=if_seq)
    return reply._replace(replaced=replaced + reply.replaced)


def _report_added(ctx: Context, reply: Added) -> None:
    if not ctx.out.as_json:
        note_altered(ctx, reply.replaced, reply.numbers_as_text)
    ctx.report(reply, f"{ctx.agent}: added #{reply.first}", "undo", ctx.agent)


def write_in_editor(ctx: Context, agent: str) -> str | None:
    """Let the user write a message in an editor, and return it; ``None`` if it is empty, or the editor failed."""
    with _written(ctx, _template(ctx, agent, "user")) as (_, said):
        return said


@contextmanager
def _written(ctx: Context, template: str) -> Iterator[tuple[int, str | None]]:
    """Yield the exit status of the editor, and what the user wrote; if the block fails, save that."""
    handle, name = mkstemp(prefix="reel-", suffix=".md")
    path = Path(name)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(template)
    try:
        yield _run_and_read(ctx, path)
    except BaseException:
        said = _above_cut(path)
        path.write_text(said, encoding="utf-8", errors="surrogateescape")
        if said.strip():
            _report_kept(ctx, name)
        else:
            path.unlink()
        raise
    path.unlink()


def _run_and_read(ctx: Context, path: Path) -> tuple[int, str | None]:
    editor = _editor()
    if status := _run_editor([*editor, str(path)]):
        ctx.out.warn(f"{editor[0]} {describe_end(status)}; nothing was added")
        return REFUSED, None
    said = _above_cut(path)
    return OK, said.removesuffix("\n") if said.strip() else None


def _template(ctx: Context, agent: str, role: str) -> str:
    """Return the initial content of the editor: room to write, and below a cut line the agent and its last message."""
    from reel.cli.screen.transcript import Transcript  # noqa: PLC0415 - only the editor needs it

    page = ctx.client.messages(agent, last=1)
    lines = ["", _CUT, f"You are writing to {ctx.client.resolved_name or agent} as the {role}."]
    lines += ["Nothing below the line with >8 is sent. An empty text adds nothing.", "", ""]
    transcript = Transcript(None, ctx.clock)
    for message in page.messages:
        shown = [render(line, colour=False) for line in transcript.message(message)]
        lines += [_MODELINE.sub(r"\1\\:", line) for line in shown[:_QUOTED]]
        lines += [f"… {len(shown) - _QUOTED} more lines"] if len(shown) > _QUOTED else []
    return "\n".join([*lines, ""])


def _above_cut(path: Path) -> str:
    """Return what is above the cut line, or everything without one. Bytes that are not UTF-8 are not replaced yet."""
    said = path.read_text(encoding="utf-8", errors="surrogateescape")
    above, cut, _ = f"\n{said}".partition(f"\n{_CUT}\n")
    return f"{above[1:]}\n" if cut else said


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
        reply = _add(ctx, said)
    except BaseException:
        _report_kept(ctx, keep_text(f"{said}\n", ".md"))  # reel add removes the last newline
        raise
    _report_added(ctx, reply)


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


def _report_kept(ctx: Context, path: str) -> None:
    """Print where a text was saved, and the command that adds it."""
    role = ["--role", ctx.args.role] if ctx.args.role else []
    ctx.out.warn(f"your text was saved; add it with: {ctx.command('add', ctx.agent, '-', *role)} < {path}")
