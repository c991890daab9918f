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
from reel.cli.context import Context
from reel.cli.exits import BROKEN_PIPE, INTERRUPTED, OK, REFUSED
from reel.cli.files import keep_text, name_of, open_input, read_text
from reel.cli.rendering import format_of, from_report, show_changes
from reel.errors import InvalidMessage, ReelError
from reel.replies import Added, Loaded
from reel.strict_json import encode
from reel.values import clean

_CHUNK = 1 << 16
# Seconds between two drafts, and how much of its end one shows.
_DRAFT_INTERVAL = 0.1
_DRAFT_LENGTH = 1 << 16


def ingest(ctx: Context) -> int:
    """Add a response; one that streams is shown while it comes."""
    if ctx.args.stream:
        return _ingest_stream(ctx)
    report_added(ctx, add_response(ctx, read_text(ctx.word)))
    return OK


def add_response(ctx: Context, body: str, *, interrupted: bool = False) -> Added:
    """Send a response to the daemon."""
    args = ctx.args
    return ctx.client.ingest(
        ctx.agent,
        format_of(ctx),
        body,
        model=args.model,
        create=args.create or None,
        names=from_report(args.names, "names"),
        interrupted=interrupted or args.interrupted or None,
        if_seq=args.if_seq,
    )


def load(ctx: Context) -> None:
    """Add the history of a request."""
    args = ctx.args
    reply = ctx.client.load(
        ctx.agent,
        format_of(ctx),
        read_text(ctx.word),
        model=args.model,
        create=args.create or None,
        if_seq=args.if_seq,
    )
    if not ctx.out.as_json:
        show_changes(ctx, reply.report)
    report_added(ctx, reply)


def print_notes(ctx: Context, reply: Added | Loaded) -> None:
    """Say aside what else became of it."""
    if ctx.out.as_json:
        return
    for call in reply.open_calls:
        ctx.out.hint(f"waits for a result: {call.id} {call.name}")
    note_altered(ctx, reply.replaced, reply.numbers_as_text)


def report_added(ctx: Context, reply: Added | Loaded) -> None:
    """Say where it is, and what became of it."""
    print_notes(ctx, reply)
    seqs = f"{reply.first}-{reply.head}" if reply.head > reply.first else f"{reply.first}"
    ctx.report(reply, f"{ctx.agent}: added {seqs}", "undo", ctx.agent)


def _ingest_stream(ctx: Context) -> int:
    """Read a stream to its end, or as far as it comes, and add the answer."""
    format_of(ctx)
    if not ctx.args.create:
        # What is streamed cannot be had again: who gets it is known before the first byte is read.
        ctx.client.agent(ctx.agent)
    with open_input(ctx.word) as file:
        first = file.read1(_CHUNK) if hasattr(file, "read1") else file.read()
        if first.lstrip()[:1] == b"{":
            # The provider did not stream: a whole response, or an error.
            report_added(ctx, _add_or_keep(ctx, (first + file.read()).decode(errors="replace"), interrupted=False))
            return OK
        return _StreamReader(ctx).read(first, file)


class _StreamReader:
    """One stream on its way.

    Args:
        ctx: the command's context.
    """

    def __init__(self, ctx: Context) -> None:
        from reel.streams.stream import Stream  # noqa: PLC0415 - only a stream needs the assemblers

        self._ctx = ctx
        self._stream = Stream(format_of(ctx))
        self._draft = _DraftSender(ctx)
        self._said: list[str] = []
        self._echoes = not ctx.out.as_json
        # Why it was not read to its end, as an exit status.
        self._cut_short_by = OK

    def read(self, first: bytes, file: BinaryIO) -> int:
        """Read it all; give the exit status."""
        if not first:
            raise UsageError(f"there is nothing in {name_of(self._ctx.word)}")
        try:
            for piece in _chunks(first, file):
                self._take(self._stream.feed(piece))
            self._take(self._stream.end())
        except KeyboardInterrupt:
            self._cut_short_by = INTERRUPTED
        if self._said and self._echoes and not self._said[-1].endswith("\n"):
            self._echo("\n")
        return self._add()

    def _take(self, text: str) -> None:
        if text:
            self._said.append(text)
            self._echo(text)
            self._draft.update(self._said)

    def _echo(self, text: str) -> None:
        """Show a piece; where nobody reads any more, the answer is still kept."""
        if not self._echoes:
            return
        try:
            self._ctx.out.piece(clean(text)[0])
            sys.stdout.flush()
        except BrokenPipeError:
            self._echoes, self._cut_short_by = False, BROKEN_PIPE

    def _add(self) -> int:
        stream, ctx = self._stream, self._ctx
        if not stream.began and not stream.complete:
            if self._cut_short_by == INTERRUPTED:
                return self._cut_short_by
            raise InvalidMessage(f"nothing came of an answer: {stream.error or self._why_nothing()}")
        body = clean(encode(stream.body()))[0]
        reply = _add_or_keep(ctx, body, interrupted=not stream.complete)
        print_notes(ctx, reply)
        if stream.complete:
            self._report(reply)
            return self._cut_short_by
        if ctx.out.as_json:
            ctx.out.document(reply)
        why = f": {stream.error}" if stream.error else ""
        ctx.out.warn(f"the answer broke off{why}; what came of it is kept as {reply.first}, marked as interrupted")
        return self._cut_short_by or REFUSED

    def _why_nothing(self) -> str:
        if self._stream.events:
            return "the stream broke off"
        return f"{name_of(self._ctx.word)} is no event stream of {self._ctx.args.format}"

    def _report(self, reply: Added) -> None:
        """Say where it is; the text alone belongs to stdout."""
        if self._ctx.out.as_json:
            self._ctx.out.document(reply)
        else:
            undo = self._ctx.command("undo", self._ctx.agent)
            self._ctx.out.hint(f"{self._ctx.agent}: added {reply.first}-{reply.head}; undo: {undo}")


def _chunks(first: bytes, file: BinaryIO) -> Iterator[bytes]:
    piece = first
    while piece:
        yield piece
        piece = file.read1(_CHUNK) if hasattr(file, "read1") else file.read(_CHUNK)


def _add_or_keep(ctx: Context, body: str, *, interrupted: bool) -> Added:
    """Add an answer; one that could not be added is put where it can be had again."""
    try:
        return add_response(ctx, body, interrupted=interrupted)
    except BaseException as error:
        if isinstance(error, ReelError) and error.data.get("field") == "error":
            raise  # no answer, but what the provider said in place of one
        again = _retry_command(ctx, keep_text(body, ".json"), interrupted=interrupted or ctx.args.interrupted)
        ctx.out.warn(f"the answer is kept; add it with: {again}")
        raise


def _retry_command(ctx: Context, path: str, *, interrupted: bool) -> str:
    """Give the command that adds an answer from a file as it was to be added."""
    args = ctx.args
    flags = [flag for flag, wanted in (("--create", args.create), ("--interrupted", interrupted)) if wanted]
    for option, value in (("--model", args.model), ("--names", args.names)):
        flags += [option, value] if value else []
    return ctx.command("ingest", ctx.agent, "--format", args.format, *flags, path)


class _DraftSender:
    """What others see of the answer before it is added, where the daemon shows it to them."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._works = True
        self._next = 0.0

    def update(self, said: list[str]) -> None:
        """Send what has come so far, unless that was done a moment ago."""
        if not self._works or time.monotonic() < self._next:
            return
        self._works = False
        with suppress(ReelError):  # nobody there yet, or an older daemon: the answer is what matters
            self._ctx.client.draft(self._ctx.agent, clean("".join(said)[-_DRAFT_LENGTH:])[0])
            self._works = True
        self._next = time.monotonic() + _DRAFT_INTERVAL
