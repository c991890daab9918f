"""The commands ``ingest`` and ``load``: add what a provider answered, or the history of a whole request.

``ingest --stream`` shows an answer while it arrives, and adds it however the stream ends.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

from reel.cli.adding import note_altered
from reel.cli.arguments import UsageError
from reel.cli.context import Invocation
from reel.cli.exits import BROKEN_PIPE, INTERRUPTED, OK, REFUSED
from reel.cli.files import keep, name_of, read_text, source
from reel.cli.rendering import format_of, from_report, show_changes
from reel.errors import InvalidMessage, ReelError
from reel.replies import Added, Loaded
from reel.strict_json import encode
from reel.values import clean

_PIECE = 1 << 16
# Seconds between two drafts, and how much of its end one shows.
_PAUSE = 0.1
_SHOWN = 1 << 16


def ingest(run: Invocation) -> int:
    """Add a response; one that streams is shown while it comes."""
    if run.args.stream:
        return _ingest_stream(run)
    done(run, add_response(run, read_text(run.word)))
    return OK


def add_response(run: Invocation, body: str, *, interrupted: bool = False) -> Added:
    """Send a response to the daemon."""
    args = run.args
    return run.client.ingest(
        run.agent,
        format_of(run),
        body,
        model=args.model,
        create=args.create or None,
        names=from_report(args.names, "names"),
        interrupted=interrupted or args.interrupted or None,
        if_seq=args.if_seq,
    )


def load(run: Invocation) -> None:
    """Add the history of a request."""
    args = run.args
    reply = run.client.load(
        run.agent,
        format_of(run),
        read_text(run.word),
        model=args.model,
        create=args.create or None,
        if_seq=args.if_seq,
    )
    if not run.out.as_json:
        show_changes(run, reply.report)
    done(run, reply)


def remark(run: Invocation, reply: Added | Loaded) -> None:
    """Say aside what else became of it."""
    if run.out.as_json:
        return
    for call in reply.open_calls:
        run.out.hint(f"waits for a result: {call.id} {call.name}")
    note_altered(run, reply.replaced, reply.numbers_as_text)


def done(run: Invocation, reply: Added | Loaded) -> None:
    """Say where it is, and what became of it."""
    remark(run, reply)
    seqs = f"{reply.first}-{reply.head}" if reply.head > reply.first else f"{reply.first}"
    run.done(reply, f"{run.agent}: added {seqs}", "undo", run.agent)


def _ingest_stream(run: Invocation) -> int:
    """Read a stream to its end, or as far as it comes, and add the answer."""
    format_of(run)
    if not run.args.create:
        # What is streamed cannot be had again: who gets it is known before the first byte is read.
        run.client.agent(run.agent)
    with source(run.word) as file:
        first = file.read1(_PIECE) if hasattr(file, "read1") else file.read()
        if first.lstrip()[:1] == b"{":
            # The provider did not stream: a whole response, or an error.
            done(run, _kept(run, (first + file.read()).decode(errors="replace"), interrupted=False))
            return OK
        return _Streaming(run).read(first, file)


class _Streaming:
    """One stream on its way.

    Args:
        run: the command.
    """

    def __init__(self, run: Invocation) -> None:
        from reel.streams.stream import Stream  # noqa: PLC0415 - only a stream needs the assemblers

        self._run = run
        self._stream = Stream(format_of(run))
        self._draft = _Draft(run)
        self._said: list[str] = []
        self._echoes = not run.out.as_json
        # Why it was not read to its end, as an exit status.
        self._cut = OK

    def read(self, first: bytes, file: BinaryIO) -> int:
        """Read it all; give the exit status."""
        if not first:
            raise UsageError(f"there is nothing in {name_of(self._run.word)}")
        try:
            for piece in _pieces(first, file):
                self._take(self._stream.feed(piece))
            self._take(self._stream.end())
        except KeyboardInterrupt:
            self._cut = INTERRUPTED
        if self._said and self._echoes and not self._said[-1].endswith("\n"):
            self._echo("\n")
        return self._add()

    def _take(self, text: str) -> None:
        if text:
            self._said.append(text)
            self._echo(text)
            self._draft.tell(self._said)

    def _echo(self, text: str) -> None:
        """Show a piece; where nobody reads any more, the answer is still kept."""
        if not self._echoes:
            return
        try:
            self._run.out.piece(clean(text)[0])
            sys.stdout.flush()
        except BrokenPipeError:
            self._echoes, self._cut = False, BROKEN_PIPE

    def _add(self) -> int:
        stream, run = self._stream, self._run
        if not stream.began and not stream.complete:
            if self._cut == INTERRUPTED:
                return self._cut
            raise InvalidMessage(f"nothing came of an answer: {stream.error or self._nothing()}")
        body = clean(encode(stream.body()))[0]
        reply = _kept(run, body, interrupted=not stream.complete)
        remark(run, reply)
        if stream.complete:
            self._tell(reply)
            return self._cut
        if run.out.as_json:
            run.out.document(reply)
        why = f": {stream.error}" if stream.error else ""
        run.out.warn(f"the answer broke off{why}; what came of it is kept as {reply.first}, marked as interrupted")
        return self._cut or REFUSED

    def _nothing(self) -> str:
        if self._stream.events:
            return "the stream broke off"
        return f"{name_of(self._run.word)} is no event stream of {self._run.args.format}"

    def _tell(self, reply: Added) -> None:
        """Say where it is; the text alone belongs to stdout."""
        if self._run.out.as_json:
            self._run.out.document(reply)
        else:
            undo = self._run.command("undo", self._run.agent)
            self._run.out.hint(f"{self._run.agent}: added {reply.first}-{reply.head}; undo: {undo}")


def _pieces(first: bytes, file: BinaryIO) -> Iterator[bytes]:
    piece = first
    while piece:
        yield piece
        piece = file.read1(_PIECE) if hasattr(file, "read1") else file.read(_PIECE)


def _kept(run: Invocation, body: str, *, interrupted: bool) -> Added:
    """Add an answer; one that could not be added is put where it can be had again."""
    try:
        return add_response(run, body, interrupted=interrupted)
    except BaseException as error:
        if isinstance(error, ReelError) and error.data.get("field") == "error":
            raise  # no answer, but what the provider said in place of one
        again = _again(run, keep(body, ".json"), interrupted=interrupted or run.args.interrupted)
        run.out.warn(f"the answer is kept; add it with: {again}")
        raise


def _again(run: Invocation, path: str, *, interrupted: bool) -> str:
    """Give the command that adds an answer from a file as it was to be added."""
    args = run.args
    flags = [flag for flag, wanted in (("--create", args.create), ("--interrupted", interrupted)) if wanted]
    for option, value in (("--model", args.model), ("--names", args.names)):
        flags += [option, value] if value else []
    return run.command("ingest", run.agent, "--format", args.format, *flags, path)


class _Draft:
    """What others see of the answer before it is added, where the daemon shows it to them."""

    def __init__(self, run: Invocation) -> None:
        self._run = run
        self._works = True
        self._next = 0.0

    def tell(self, said: list[str]) -> None:
        """Send what has come so far, unless that was done a moment ago."""
        if not self._works or time.monotonic() < self._next:
            return
        self._works = False
        with suppress(ReelError):  # nobody there yet, or an older daemon: the answer is what matters
            self._run.client.draft(self._run.agent, clean("".join(said)[-_SHOWN:])[0])
            self._works = True
        self._next = time.monotonic() + _PAUSE
