"""The commands ``ingest`` and ``load``: what providers say, and what was said to them."""

from reel.cli.exits import OK
from reel.cli.files import read_text
from reel.cli.invocation import Invocation
from reel.cli.rendering import format_of, from_report, show_changes
from reel.replies import Added, Loaded


def ingest(run: Invocation) -> int:
    """Add a response; one that streams is shown while it comes."""
    if run.args.stream:
        from reel.cli.streaming import ingest_stream  # noqa: PLC0415 - who does not stream pays nothing

        return ingest_stream(run)
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
    if reply.replaced:
        run.out.warn(f"note: characters that no text can have were replaced: {reply.replaced}")


def done(run: Invocation, reply: Added | Loaded) -> None:
    """Say where it is, and what became of it."""
    remark(run, reply)
    seqs = f"{reply.first}-{reply.head}" if reply.head > reply.first else f"{reply.first}"
    run.done(reply, f"{run.agent}: added {seqs}", "undo", run.agent)
