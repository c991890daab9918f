"""The command ``edit``: a message that is written in an editor."""

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp

from reel.base.process_end import describe_end
from reel.base.values import clean
from reel.cli.commands.add import note_altered
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.screen.output import render
from reel.replies import Added
from reel.said.new_messages import text

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
        reply = add_written(ctx, said, if_seq=ctx.args.if_seq)
    report_added(ctx, reply)
    return OK


def add_written(ctx: Context, said: str, *, if_seq: int | None = None) -> Added:
    """Add a message of ``--role``; the reply counts everything that was replaced in it, here or by the daemon."""
    message, replaced = clean(said)
    reply = ctx.client.add(ctx.agent, [text(ctx.args.role or "user", message)], if_seq=if_seq)
    return reply._replace(replaced=replaced + reply.replaced)


def report_added(ctx: Context, reply: Added) -> None:
    """Print where a message was added, and how much of it had to be altered."""
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
            report_kept(ctx, name)
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
    lines = ["", _CUT, f"You are writing to {ctx.client.whole_name(agent)} as the {role}."]
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


def report_kept(ctx: Context, path: str) -> None:
    """Print where a text was saved, and the command that adds it."""
    role = ["--role", ctx.args.role] if ctx.args.role else []
    ctx.out.warn(f"your text was saved; add it with: {ctx.command('add', ctx.agent, '-', *role)} < {path}")
