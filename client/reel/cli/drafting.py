"""The command ``draft``: what is being written, shown to the others while it is."""

import codecs
import os
import select
import sys
import time
from collections.abc import Iterator

from reel.cli.arguments import UsageError
from reel.cli.context import Invocation
from reel.cli.keeping import keep, tell_of_text
from reel.errors import ReelError
from reel.messages import text

# Seconds between two drafts, and between two of the same, for a daemon that came back.
_GAP = 0.05
_AGAIN = 5.0
# A draft may be long, but nobody reads more than its end.
_SHOWN = 100_000
_CHUNK = 1 << 16


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
