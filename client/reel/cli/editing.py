"""The command ``edit``: a message that is written in an editor."""

import os
import shlex
import signal
import subprocess
from pathlib import Path
from tempfile import mkstemp

from reel.cli.arguments import UsageError
from reel.cli.context import Invocation
from reel.cli.exits import OK, REFUSED
from reel.cli.keeping import tell_of_text
from reel.messages import text

_FALLBACK = "vi"


def edit(run: Invocation) -> int:
    """Have a message written and add it; a text that could not be added is kept."""
    # Who has written a long text should not learn only then that there is nobody to say it to.
    run.client.agent(run.agent)
    handle, name = mkstemp(prefix="reel-", suffix=".md")
    os.close(handle)
    path = Path(name)
    try:
        status = _add(run, path)
    except BaseException:
        _keep(run, path)
        raise
    path.unlink()
    return status


def _add(run: Invocation, path: Path) -> int:
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
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _FALLBACK
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
