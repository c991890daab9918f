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
from reel.cli.context import Invocation
from reel.cli.exits import OK, REFUSED
from reel.cli.files import keep
from reel.errors import ReelError
from reel.messages import text

# Seconds between two drafts, and between two of the same, for a daemon that came back.
_GAP = 0.05
_AGAIN = 5.0
# A draft may be long, but nobody reads more than its end.
_SHOWN = 100_000
_CHUNK = 1 << 16
# What $EDITOR is, if it is not set.
_EDITOR = "vi"


def edit(run: Invocation) -> int:
    """Have a message written and add it; a text that could not be added is kept."""
    # Who has written a long text should not learn only then that there is nobody to say it to.
    run.client.agent(run.agent)
    handle, name = mkstemp(prefix="reel-", suffix=".md")
    os.close(handle)
    path = Path(name)
    try:
        status = _add_written(run, path)
    except BaseException:
        _keep(run, path)
        raise
    path.unlink()
    return status


def _add_written(run: Invocation, path: Path) -> int:
    editor = _editor()
    if status := _wait_for([*editor, str(path)]):
        run.out.warn(f"{editor[0]} ended with status {status}; nothing was added")
        return REFUSED
    said = path.read_text(encoding="utf-8", errors="replace")
    if not said.strip():
        run.done({"agent": run.agent, "added": False}, f"{run.agent}: nothing written, nothing added")
        return OK
    message = text(run.args.role or "user", said.removesuffix("\n"))
    reply = run.client.add(run.agent, [message], if_seq=run.args.if_seq)
    run.done(reply, f"{run.agent}: added {reply.first}", "undo", run.agent)
    return OK


def _editor() -> list[str]:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _EDITOR
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"the editor {command!r} cannot be started: {error}") from None


def _wait_for(command: list[str]) -> int:
    """Run an editor; Ctrl-C belongs to it for as long as it runs."""
    # A handler, as the editor would inherit SIG_IGN.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run(command, check=False).returncode  # noqa: S603 - the user's own editor
    finally:
        signal.signal(signal.SIGINT, before)


def _keep(run: Invocation, path: Path) -> None:
    if path.stat().st_size:
        tell_of_text(run, str(path))
    else:
        path.unlink()


def draft(run: Invocation) -> None:
    """Show a text until interrupted; or what stdin brings, as it comes, and in the end add it."""
    if run.word is not None and run.word != "-":
        _hold(run, run.word)
    if run.args.add:
        # What is streamed cannot be had again: who gets it is known before the first byte is read.
        run.client.agent(run.agent)
    if sys.stdin.isatty():
        run.out.hint("type it; the others see each line, and Ctrl-D ends it")
    said = _read(run)
    if not run.args.add:
        run.client.draft(run.agent, "")
        return
    if not said:
        raise UsageError("nothing came from stdin, and so there is nothing to add")
    _add(run, said.removesuffix("\n"))


def _read(run: Invocation) -> str:
    """Show what comes from stdin as it comes; give all of it, though it could not be shown where it is to be added."""
    said, shown = "", True
    for said in _growing(sys.stdin.fileno()):
        if not shown:
            continue
        try:
            run.client.draft(run.agent, _end(said))
        except ReelError:
            if not run.args.add:
                raise
            shown = False
    return said


def _add(run: Invocation, said: str) -> None:
    try:
        reply = run.client.add(run.agent, [text(run.args.role or "user", said)])
    except BaseException:
        tell_of_text(run, keep(f"{said}\n", ".md"))  # whose end goes again when it is read
        raise
    run.done(reply, f"{run.agent}: added {reply.first}", "undo", run.agent)


def _hold(run: Invocation, said: str) -> None:
    if run.args.add:
        raise UsageError("--add goes with a text from stdin; use: reel add")
    run.client.draft(run.agent, _end(said))
    run.out.hint("shown until you press Ctrl-C")
    while True:
        time.sleep(_AGAIN)  # nothing else happens here that would tell of a daemon that came back
        run.client.draft(run.agent, _end(said))


def _end(said: str) -> str:
    return said if len(said) <= _SHOWN else "…" + said[-_SHOWN:]


def _growing(stdin: int) -> Iterator[str]:
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
            given, due = said, time.monotonic() + _GAP
    yield said


def tell_of_text(run: Invocation, path: str) -> None:
    """Say where a message's text is, and how it is added."""
    role = ["--role", run.args.role] if run.args.role else []
    run.out.warn(f"your text is kept; add it with: {run.command('add', run.agent, '-', *role)} < {path}")
