"""What ``ask`` and ``chat`` share: an answer that is printed while it streams, and added."""

from reel.base.errors import InvalidMessage, ReelError
from reel.base.light_typing import NamedTuple
from reel.base.process_end import describe_end
from reel.cli.commands.shared.bodies import show_changes
from reel.cli.commands.shared.provider import Provider
from reel.cli.commands.shared.running import Running, run
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.ending import Ending, ended_by_signals
from reel.cli.line.exits import BROKEN_PIPE, CUT, INTERRUPTED, OK, REFUSED, Ended
from reel.cli.line.files import keep_text
from reel.cli.screen.echo import Echo
from reel.reading.cuts import broke_off, why_cut
from reel.reading.tokens import Tokens
from reel.reading.wording import count
from reel.replies import Added, Rendered
from reel.said.tool_calls import ToolCall
from reel.sync.answer import Answer


class Outcome(NamedTuple):
    """The outcome of a question: the exit status, and what was added, if anything.

    ``cut`` is why the answer is not all that the model would have said.
    """

    status: int
    added: Added | None = None
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    tokens: Tokens | None = None
    model: str | None = None
    cut: str | None = None


def answer(
    ctx: Context, agent: str, provider: Provider, echo: Echo | None = None, *, tells_calls: bool = True
) -> Outcome:
    """Let a provider answer the last message: print the answer while it streams, and add it.

    Ctrl-C ends the answer: what has arrived is added and marked as interrupted. SIGTERM and SIGHUP do the same, and
    end the command.

    Args:
        ctx: the command's context.
        agent: the agent.
        provider: who answers.
        echo: prints the answer.
        tells_calls: whether to print the calls that wait for a result.

    Raises:
        UsageError: there is nothing to answer.
        ReelError: the answer cannot be added; it was kept.
        Ended: a signal ends the command.
    """
    with ended_by_signals() as ending:
        return _answer(ctx, agent, provider, echo or Echo(ctx.out), ending, tells_calls=tells_calls)


def _answer(ctx: Context, agent: str, provider: Provider, echo: Echo, ending: Ending, *, tells_calls: bool) -> Outcome:
    begun: Answer | None = None
    running: Running | None = None
    end = (0, "")
    try:
        with ctx.client.answer(
            agent,
            provider.format,
            provider.extra,
            budget=provider.budget,
            cache=provider.cache,
            dialect=provider.dialect,
            tools=provider.tools,
        ) as begun:
            if not begun.ready:
                raise UsageError("there is nothing to answer; say something first")
            _show_dropped(ctx, begun.rendered)
            echo.wait("waiting for the answer")
            running = run(provider, begun.rendered)
            try:
                for piece in running:
                    echo.write(begun.feed(piece))
            finally:
                ending.defer()
                end = running.close()
    except (KeyboardInterrupt, Ended) as stop:
        echo.end()
        for note in getattr(stop, "__notes__", ()):  # that, and where, the log keeps what had come
            ctx.out.warn(note)
        return _interrupted(ctx, begun)
    except InvalidMessage as error:
        echo.end()
        refused = error.message.removeprefix("error: ")
        if provider.command is None and end[1]:  # the status that came with it
            ctx.out.warn(f"{refused}; {end[1]}")
        else:
            ctx.out.warn(refused)
            _show_errors(ctx, provider, *end)
        return Outcome(REFUSED)
    except ReelError as error:
        echo.end()
        if begun is not None and running is not None and "kept" not in error.data:
            _keep(ctx, agent, provider, begun)
        raise
    return _finished(ctx, provider, begun, echo, end, tells_calls=tells_calls)


def _show_dropped(ctx: Context, rendered: Rendered) -> None:
    """Print what of the newest message the provider is not sent."""
    if rendered.newest is None:
        return
    show_changes(
        ctx, [change for change in rendered.report if change.action == "dropped" and change.seq == rendered.newest]
    )


def _finished(
    ctx: Context, provider: Provider, answer: Answer, echo: Echo, end: tuple[int, str], *, tells_calls: bool
) -> Outcome:
    """Print the rest of an answer, and what went wrong with it."""
    if not answer.streamed:
        echo.write(answer.text)
    echo.end()
    _show_errors(ctx, provider, *end)
    if answer.added is None or answer.message is None:
        if end == (0, ""):
            does = "wrote nothing to stdout; it should write" if provider.command else "sent nothing; it should send"
            ctx.out.warn(f"{provider.name} {does} the provider's response")
        return Outcome(REFUSED)
    metadata = answer.message["provider_metadata"]
    model = metadata.get("model")
    outcome = Outcome(
        OK,
        answer.added,
        answer.text,
        tuple(answer.calls),
        answer.usage,
        model if isinstance(model, str) else None,
        answer.problem if answer.interrupted else why_cut(answer.message),
    )
    for call in outcome.calls if tells_calls else ():
        ctx.out.warn(f"waiting for the result of {call.name} ({call.id}): {call.arguments_json}")
    if answer.late:
        said = count(answer.late, "message")
        ctx.out.warn(f"{said} came meanwhile, which this answer does not answer; the next request has them after it")
    if answer.interrupted:
        ctx.out.warn(f"{broke_off(answer.problem)}; what arrived was added and marked as interrupted")
        return outcome._replace(status=REFUSED)
    if outcome.cut is not None:
        ctx.out.warn(f"the answer is not whole: {outcome.cut}")
        return outcome._replace(status=CUT)
    return outcome._replace(status=BROKEN_PIPE) if echo.closed else outcome


def _interrupted(ctx: Context, answer: Answer | None) -> Outcome:
    added = None if answer is None else answer.added
    if added is None:
        ctx.out.warn("interrupted before anything arrived; nothing was added")
    else:
        ctx.out.warn(f"interrupted; what arrived was added as #{added.first} and marked as interrupted")
    return Outcome(INTERRUPTED, added)


def _show_errors(ctx: Context, provider: Provider, status: int, errors: str) -> None:
    for line in errors.splitlines():
        ctx.out.warn(line)
    if status:
        ctx.out.warn(f"{provider.name} {describe_end(status)}")


def _keep(ctx: Context, agent: str, provider: Provider, answer: Answer) -> None:
    """Save an answer that the log cannot keep, and print the command that adds it."""
    path = keep_text(answer.response, ".json")
    again = ctx.command("ingest", agent, "--format", provider.format, path)
    ctx.out.warn(f"the answer was saved; add it with: {again}")
