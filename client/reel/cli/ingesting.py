"""The commands ``ingest`` and ``load``: add a provider's response, or the history of a request.

``ingest --stream`` prints the text while it arrives, and adds the response however the stream ends.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

from reel.cli.adding import note_altered
from reel.cli.arguments import UsageError
from reel.cli.context import Context
from reel.cli.exits import BROKEN_PIPE, INTERRUPTED, OK, REFUSED
from reel.cli.files import keep_text, name_of, open_input, read_text
from reel.cli.output import Echo
from reel.cli.rendering import format_of, from_report, show_changes
from reel.cli.terminal import seq_range
from reel.errors import InvalidMessage, ReelError
from reel.replies import Added, Loaded
from reel.strict_json import encode
from reel.values import clean

_CHUNK = 1 << 16
# Seconds between two drafts, and how many characters of its end each one has.
_DRAFT_INTERVAL = 0.1
_DRAFT_LENGTH = 1 << 16


def ingest(ctx: Context) -> int:
    """Add a response; a stream is printed while it arrives."""
    if ctx.args.stream:
        return _ingest_stream(ctx)
    _report_response(ctx, add_response(ctx, read_text(ctx.word)))
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
    print_notes(ctx, reply)
    ctx.report(reply, f"{ctx.agent}: added {seq_range(reply.first, reply.head)}", "undo", ctx.agent)


def print_notes(ctx: Context, reply: Added | Loaded) -> None:
    """Print the open tool calls, and how much of the messages had to be altered."""
    if ctx.out.as_json:
        return
    for call in reply.open_calls:
        ctx.out.hint(f"waiting for the result of {call.name} ({call.id})")
    note_altered(ctx, reply.replaced, reply.numbers_as_text)


def _report_response(ctx: Context, reply: Added) -> None:
    """Print where a response was added, and notes about it."""
    print_notes(ctx, reply)
    added = _added(reply, interrupted=ctx.args.interrupted)
    ctx.report(reply, f"{ctx.agent}: {added}", "undo", ctx.agent)


def _added(reply: Added, *, interrupted: bool = False) -> str:
    """Return what was added: a message, its usage if the response has any, and a note if it broke off."""
    usage = " and its usage" if reply.head - reply.first > interrupted else ""
    return f"added #{reply.first}{usage}"


def _ingest_stream(ctx: Context) -> int:
    """Read a stream to its end, and add the response."""
    # All that takes time is done while the stream has not begun, so that its first text is not late.
    reader = _StreamReader(ctx)
    if not ctx.args.create:
        # A stream cannot be read twice: fail before its first byte is read if there is no such agent.
        ctx.client.agent(ctx.agent)
    with open_input(ctx.word) as file:
        first = file.read1(_CHUNK) if hasattr(file, "read1") else file.read()
        if first.lstrip()[:1] == b"{":
            # The provider did not stream: this is a whole response, or an error.
            body = (first + file.read()).decode(errors="replace")
            _report_response(ctx, _add_or_keep(ctx, body, interrupted=False))
            return OK
        return reader.read(first, file)


class _StreamReader:
    """Reads one stream, prints its text and adds the response.

    Args:
        ctx: the command's context.
    """

    def __init__(self, ctx: Context) -> None:
        from reel.streams.stream import Stream  # noqa: PLC0415 - only a stream needs the assemblers

        self._ctx = ctx
        self._stream = Stream(format_of(ctx))
        self._draft = _DraftSender(ctx)
        self._said: list[str] = []
        self._echo = Echo(ctx.out)
        self._interrupted = False

    def read(self, first: bytes, file: BinaryIO) -> int:
        """Read the whole stream, and return the exit status."""
        if not first:
            raise UsageError(f"{name_of(self._ctx.word)} is empty")
        try:
            for piece in _chunks(first, file):
                self._take(self._stream.feed(piece))
            self._take(self._stream.end())
        except KeyboardInterrupt:
            self._interrupted = True
        self._echo.end()
        return self._add()

    def _take(self, text: str) -> None:
        if text:
            self._said.append(text)
            self._echo.write(text)
            self._draft.update(self._said)

    def _add(self) -> int:
        stream, ctx = self._stream, self._ctx
        if not stream.began and not stream.complete:
            if self._interrupted:
                return INTERRUPTED
            raise InvalidMessage(f"no response arrived: {stream.error or self._why_nothing()}")
        body = clean(encode(stream.body()))[0]
        reply = _add_or_keep(ctx, body, interrupted=not stream.complete)
        print_notes(ctx, reply)
        if stream.complete:
            self._report(reply)
            return self._cut_short_by()
        if ctx.out.as_json:
            ctx.out.document(reply)
        why = f": {stream.error}" if stream.error else ""
        ctx.out.warn(f"the response broke off{why}; what arrived was added as #{reply.first}, marked as interrupted")
        return self._cut_short_by() or REFUSED

    def _cut_short_by(self) -> int:
        """Return the exit status for why the stream was not read, or not printed, to its end."""
        if self._interrupted:
            return INTERRUPTED
        return BROKEN_PIPE if self._echo.closed else OK

    def _why_nothing(self) -> str:
        if self._stream.events or self._stream.cut:
            return "the stream broke off"
        return f"{name_of(self._ctx.word)} is not an event stream of {self._ctx.args.format}"

    def _report(self, reply: Added) -> None:
        """Print where the response was added, on stderr: only its text goes to stdout."""
        if self._ctx.out.as_json:
            self._ctx.out.document(reply)
        else:
            self._ctx.out.hint(f"{self._ctx.agent}: {_added(reply)}")
            self._ctx.hint_undo("undo", self._ctx.agent)


def _chunks(first: bytes, file: BinaryIO) -> Iterator[bytes]:
    piece = first
    while piece:
        yield piece
        piece = file.read1(_CHUNK) if hasattr(file, "read1") else file.read(_CHUNK)


def _add_or_keep(ctx: Context, body: str, *, interrupted: bool) -> Added:
    """Add a response; save one that cannot be added, and print the command that adds it."""
    try:
        return add_response(ctx, body, interrupted=interrupted)
    except BaseException as error:
        if isinstance(error, ReelError) and error.data.get("field") == "error":
            raise  # not a response, but the provider's error
        again = _retry_command(ctx, keep_text(body, ".json"), interrupted=interrupted or ctx.args.interrupted)
        ctx.out.warn(f"the response was saved; add it with: {again}")
        raise


def _retry_command(ctx: Context, path: str, *, interrupted: bool) -> str:
    """Return the command that adds a saved response with the same options."""
    args = ctx.args
    flags = [flag for flag, wanted in (("--create", args.create), ("--interrupted", interrupted)) if wanted]
    for option, value in (("--model", args.model), ("--names", args.names)):
        flags += [option, value] if value else []
    return ctx.command("ingest", ctx.agent, "--format", args.format, *flags, path)


class _DraftSender:
    """Sends the text of a response to the daemon as a draft, for others to see before it is added."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._works = True
        self._next = 0.0

    def update(self, said: list[str]) -> None:
        """Send the text that has arrived, unless a draft was sent a moment ago."""
        if not self._works or time.monotonic() < self._next:
            return
        self._works = False
        with suppress(ReelError):  # no such agent yet, or an older daemon: only the response matters
            self._ctx.client.draft(self._ctx.agent, clean("".join(said)[-_DRAFT_LENGTH:])[0])
            self._works = True
        self._next = time.monotonic() + _DRAFT_INTERVAL
