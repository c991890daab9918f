"""The command ``ingest``: add a provider's response.

``ingest --stream`` prints the text while it arrives, and adds the response however the stream ends.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from reel import requests
from reel.base.errors import Conflict, InvalidMessage, ReelError
from reel.base.light_typing import TYPE_CHECKING
from reel.cli.commands.add import note_altered
from reel.cli.commands.shared.bodies import format_of, from_report
from reel.cli.line.arguments import InvalidValue, UsageError, positive
from reel.cli.line.context import Context
from reel.cli.line.exits import BROKEN_PIPE, INTERRUPTED, OK, REFUSED, Ended
from reel.cli.line.files import keep_text, name_of, open_input, read_text
from reel.cli.screen.echo import Echo
from reel.replies import Added, Loaded

if TYPE_CHECKING:
    from typing import BinaryIO

    from reel.cli.line.ending import Ending
    from reel.machines.drafted_response import DraftedResponse
    from reel.requests import Call
    from reel.streams.response import IncomingResponse

_CHUNK = 1 << 16
# How many of the newest notes of a log are looked at for a kept answer.
_NOTES = 1000


def ingest(ctx: Context) -> int:
    """Add a response; a stream is printed while it arrives."""
    if ctx.args.kept:
        return _place_kept(ctx)
    if ctx.args.stream:
        return _ingest_stream(ctx)
    _report_response(ctx, ctx.client.call(_ingest_call(ctx, read_text(ctx.word))))
    return OK


def _place_kept(ctx: Context) -> int:
    """Add an answer that the log keeps because what it answers is gone: the one at a seq, or the next one."""
    from reel.machines import kept_answer  # noqa: PLC0415 - seldom needed

    agent, seq = ctx.client.agent(ctx.agent).id, None if ctx.word is None else _seq(ctx.word)
    if seq is None:
        notes = ctx.client.history(agent, kinds=["note"], last=_NOTES).events
    else:
        notes = ctx.client.history(agent, since=seq - 1, limit=1, kinds=["note"]).events
    kept = [event for event in reversed(notes) if kept_answer.is_kept(event) and seq in (None, event["seq"])]
    if not kept:
        where = f"the log of {ctx.agent}" if seq is None else f"#{seq} of {ctx.agent}"
        raise UsageError(f"{where} keeps no answer; see what there is with: {ctx.command('log', ctx.agent)}")
    for event in kept:
        reply = ctx.client.call(kept_answer.place(agent, event))
        if not reply.repeated:
            _report_response(ctx, reply)
            return OK
        ctx.out.warn(f"#{event['seq']} was placed before, as #{reply.first}; it is not added again")
    return OK


def _seq(word: str) -> int:
    try:
        return positive(word.removeprefix("#"))
    except InvalidValue as error:
        raise UsageError(f"SEQ: {error}") from None


def _ingest_call(ctx: Context, body: str, *, interrupted: bool = False) -> Call[Added]:
    """Return the request that adds a response."""
    args = ctx.args
    prefix = from_report(args.names, "prefix") or {}
    return requests.ingest(
        ctx.agent,
        format_of(ctx),
        body,
        model=args.model,
        create=args.create or None,
        names=from_report(args.names, "names"),
        prefix=prefix if prefix.get("body") else None,
        interrupted=interrupted or args.interrupted or None,
        if_stands=args.if_stands,
        if_seq=args.if_seq,
    )


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
    """Read a stream to its end, print its text, and add the response."""
    from reel.cli.line.ending import ended_by_signals  # noqa: PLC0415 - only a stream needs it

    with ended_by_signals() as ending:
        return _read_and_add(ctx, ending)


def _read_and_add(ctx: Context, ending: Ending) -> int:
    # All that takes time is done while the stream has not begun, so that its first text is not late.
    from reel.machines.drafted_response import DraftedResponse  # noqa: PLC0415 - only a stream needs the assemblers

    drafted, echo = DraftedResponse(ctx.agent, format_of(ctx)), Echo(ctx.out)
    if not ctx.args.create:
        # A stream cannot be read twice: fail before its first byte is read if there is no such agent.
        ctx.client.agent(ctx.agent)
    interrupted = False
    with open_input(ctx.word) as file:
        try:
            for piece in _chunks(file):
                echo.write(_take(ctx, drafted, piece))
            echo.write(drafted.incoming.end())
        except (KeyboardInterrupt, Ended):
            interrupted = True
        finally:
            ending.defer()
    echo.end()
    incoming = drafted.incoming
    if interrupted and not incoming.is_stream:
        return INTERRUPTED
    if incoming.anything and not incoming.is_stream:
        # The provider did not stream: this is a whole response, or an error.
        _report_response(ctx, _add_or_keep(ctx, incoming.body(), interrupted=False))
        return OK
    return _add_stream(ctx, incoming, INTERRUPTED if interrupted else BROKEN_PIPE if echo.closed else OK)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    read = file.read1 if hasattr(file, "read1") else file.read
    while piece := read(_CHUNK):
        yield piece


def _take(ctx: Context, drafted: DraftedResponse, piece: bytes) -> str:
    """Take a piece of the stream, show it to others as a draft, and return the text that it adds."""
    text, draft = drafted.take_piece(piece, time.monotonic())
    if draft is not None:
        try:
            ctx.client.call(draft)
        except ReelError:  # no such agent yet, or an older daemon: only the response matters
            drafted.stop_drafts()
    return text


def _add_stream(ctx: Context, incoming: IncomingResponse, cut_short: int) -> int:
    """Add what arrived of a stream, and return the exit status.

    Args:
        ctx: the command's context.
        incoming: the response.
        cut_short: the exit status for why it was not read, or not printed, to its end, if it was not.
    """
    if not incoming.anything and not cut_short:
        raise UsageError(f"{name_of(ctx.word)} is empty")
    if not incoming.began and not incoming.complete:
        if cut_short == INTERRUPTED:
            return INTERRUPTED
        raise InvalidMessage(f"no response arrived: {_why_nothing(ctx, incoming)}")
    reply = _add_or_keep(ctx, incoming.body(), interrupted=not incoming.complete)
    print_notes(ctx, reply)
    if ctx.out.as_json:
        ctx.out.document(reply)
    if incoming.complete:
        if not ctx.out.as_json:  # on stderr: only the text goes to stdout
            ctx.out.hint(f"{ctx.agent}: {_added(reply)}")
            ctx.hint_undo("undo", ctx.agent)
        return cut_short
    why = f": {incoming.error}" if incoming.error else ""
    ctx.out.warn(f"the response broke off{why}; what arrived was added as #{reply.first}, marked as interrupted")
    return cut_short or REFUSED


def _why_nothing(ctx: Context, incoming: IncomingResponse) -> str:
    if incoming.error is not None:
        return incoming.error
    return (incoming.problem or "").replace("it is", f"{name_of(ctx.word)} is")


def _add_or_keep(ctx: Context, body: str, *, interrupted: bool) -> Added:
    """Add a response; keep one that cannot be added, and print the command that adds it."""
    ingest = _ingest_call(ctx, body, interrupted=interrupted)
    try:
        return ctx.client.call(ingest)
    except BaseException as error:
        if isinstance(error, ReelError) and error.data.get("field") == "error":
            raise  # not a response, but the provider's error
        if isinstance(error, Conflict) and ctx.args.if_stands is not None:
            from reel.machines import kept_answer  # noqa: PLC0415 - seldom needed

            kept = ctx.client.call(kept_answer.note(ingest)).first
            again = ctx.command("ingest", ctx.agent, "--kept", str(kept))
            ctx.out.warn(f"the response is kept as #{kept}; place it with: {again}")
            raise
        again = _retry_command(ctx, keep_text(body, ".json"), interrupted=interrupted or ctx.args.interrupted)
        ctx.out.warn(f"the response was saved; add it with: {again}")
        raise


def _retry_command(ctx: Context, path: str, *, interrupted: bool) -> str:
    """Return the command that adds a saved response with the same options."""
    args = ctx.args
    flags = [flag for flag, wanted in (("--create", args.create), ("--interrupted", interrupted)) if wanted]
    for option, value in (("--model", args.model), ("--names", args.names)):
        flags += [option, value] if value else []
    return ctx.command("ingest", ctx.agent, "--format", args.format or "", *flags, path)
