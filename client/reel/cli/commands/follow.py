"""The command ``follow``."""

import os
import subprocess
import sys
from collections.abc import Callable

from reel.base.process_end import describe_end
from reel.cli.commands.shared.live import PushPrinter, require_agent
from reel.cli.commands.shared.reconnecting import retry_until_running
from reel.cli.commands.show import transcript_for
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.stdin import EVENT, event_stdin
from reel.cli.screen.output import to_json
from reel.cli.screen.transcript import Transcript
from reel.daemon.lock_file import socket_to_use
from reel.wire.pushes import EventPush, Push, ResetPush


def follow(ctx: Context) -> None:
    """Show events as they happen, until interrupted."""
    args = ctx.args
    if args.all and args.agent:
        raise UsageError("--all and -a cannot be combined")
    # The id, so that a rename does not matter. The client resolves a prefix here.
    info = None if args.all or not ctx.agent else ctx.client.agent(ctx.agent)
    agent = info and info.id
    since = args.since
    if args.last is not None and (agent is None or since is not None):
        raise UsageError("--last needs one conversation, and cannot be combined with --since")
    transcript = transcript_for(ctx, folds=True)
    if agent is not None and args.last is not None:
        since = _show_last(ctx, agent, transcript)
    printer = PushPrinter(ctx, info, transcript, since=args.since)
    show = _printer(ctx, printer)
    # A lost connection is reported at once, and the retries are made here.
    ctx.client.give_up_after(0)
    with ctx.client.subscribe(agent, since, kinds=args.kind) as subscription:
        if not ctx.out.as_json and not args.exec:
            ctx.out.hint(f"following {info.name if info else 'all agents'}; Ctrl-C ends it")
        while True:
            push = retry_until_running(ctx, lambda: next(subscription), printer.lose)
            if info is not None and isinstance(push, ResetPush):
                require_agent(ctx, info.name, info.id)
            show(push)
            printer.draw()
            sys.stdout.flush()


def _show_last(ctx: Context, agent: str, transcript: Transcript) -> int:
    """Show the newest messages, and return the seq up to which everything has been shown."""
    page = ctx.client.messages(agent, last=ctx.args.last or 1)
    if not ctx.args.exec:
        for message in page.messages if ctx.args.last else ():
            if ctx.out.as_json:
                ctx.out.document(message)
            else:
                ctx.out.lines(transcript.message(message))
        sys.stdout.flush()
    return page.head


def _printer(ctx: Context, printer: PushPrinter) -> Callable[[Push], None]:
    """Return the function that shows a push."""
    if ctx.args.exec:
        return lambda push: _run_command(ctx, push)
    if ctx.out.as_json:
        return lambda push: ctx.out.document(push) if isinstance(push, EventPush) else None
    return printer.show


def _run_command(ctx: Context, push: Push) -> None:
    """Run the command for an event, with the push as JSON on stdin and its main fields in the environment."""
    if not isinstance(push, EventPush):
        return
    known = {
        "REEL_AGENT": push.name,
        "REEL_SEQ": str(push.seq),
        "REEL_KIND": push.kind,
        "REEL_SOCKET": socket_to_use(ctx.socket),
    }
    with event_stdin(to_json(push).encode() + b"\n") as (stdin, name):
        environment = {**os.environ, **known, EVENT: name}
        ran = subprocess.run(  # noqa: S602 - the user's own command line
            ctx.args.exec or "", shell=True, check=False, stdin=stdin, env=environment
        )
    if ran.returncode:
        ctx.out.warn(f"{push.name} #{push.seq}: the command {describe_end(ran.returncode)}")
