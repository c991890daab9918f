"""The command ``ask``, and the part that it shares with ``chat``: printing a streamed answer, and adding it."""

import sys
from typing import NamedTuple

from reel.base.errors import InvalidMessage, ReelError
from reel.base.values import clean
from reel.cli.commands.add import note_altered
from reel.cli.commands.shared.place import tags_of_place
from reel.cli.commands.shared.via import Provider, Run, provider_of
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import BROKEN_PIPE, INTERRUPTED, OK, REFUSED, describe_end
from reel.cli.line.files import STDIN, keep_text, read_stdin, read_text
from reel.cli.screen.output import Echo
from reel.reading.wording import count, seq_range
from reel.replies import Added
from reel.said.new_messages import text
from reel.sync.answer import Answer


class Outcome(NamedTuple):
    """The outcome of a question: the exit status, and what was added, if anything."""

    status: int
    added: Added | None


def ask(ctx: Context) -> int:
    """Add a message, have it answered, and print the answer."""
    provider = provider_of(ctx)
    said = _question(ctx)
    agent = ctx.agent
    if said is not None:
        # By its id from now on, because it may be renamed meanwhile.
        agent = add_question(ctx, agent, said, create=ctx.args.create or None, if_seq=ctx.args.if_seq).agent
    outcome = answer(ctx, agent, provider)
    if outcome.added is None:
        if outcome.status != INTERRUPTED:
            ctx.out.warn(f"only the question was added to {ctx.agent}; ask again with: {_again(ctx)}")
        return outcome.status or REFUSED
    if ctx.out.as_json:
        ctx.out.document(outcome.added)
    else:
        ctx.out.hint(f"{ctx.agent}: added {seq_range(outcome.added.first, outcome.added.head)}")
    return outcome.status


def add_question(
    ctx: Context, agent: str, said: str, *, create: bool | None = None, if_seq: int | None = None
) -> Added:
    """Add the user's text, and print how much of it had to be replaced."""
    question, replaced = clean(said)
    tags = tags_of_place() if create else None
    added = ctx.client.add(agent, [text("user", question)], create, tags=tags, if_seq=if_seq)
    note_altered(ctx, replaced + added.replaced, added.numbers_as_text)
    return added


def _again(ctx: Context) -> str:
    via = ["--via", ctx.args.via, "--format", ctx.args.format or ""] if ctx.args.via else []
    dialect = ["--dialect", ctx.args.dialect] if ctx.args.dialect else []
    return ctx.command("ask", "-a", ctx.agent, *via, *dialect)


def _question(ctx: Context) -> str | None:
    """Return the message to add, or ``None`` to answer the last one. Bytes that are not UTF-8 are not replaced yet."""
    said = ctx.word
    if said == STDIN or (said is None and ctx.args.with_file != STDIN and not sys.stdin.isatty()):
        said = read_stdin()
        if not said and ctx.word == STDIN:
            raise UsageError("stdin was empty; there is nothing to ask")
    if ctx.args.with_file is None:
        return said or None
    attached = read_text(ctx.args.with_file, errors="surrogateescape").removesuffix("\n")
    return f"{said}\n\n{attached}" if said else attached


def answer(ctx: Context, agent: str, provider: Provider) -> Outcome:
    """Let a provider answer the last message: print the answer while it streams, and add it.

    Ctrl-C ends the answer: what has arrived is added and marked as interrupted.

    Raises:
        UsageError: there is nothing to answer.
        ReelError: the answer cannot be added; it was saved.
    """
    echo = Echo(ctx.out)
    begun: Answer | None = None
    run: Run | None = None
    end = (0, "")
    try:
        with ctx.client.answer(
            agent, provider.format, provider.extra, dialect=provider.dialect, tools=provider.tools
        ) as begun:
            if not begun.ready:
                raise UsageError("there is nothing to answer; say something first")
            echo.wait("waiting for the answer")
            run = Run(provider.command, begun.body)
            try:
                for piece in run:
                    echo.write(begun.feed(piece))
            finally:
                end = run.close()
    except KeyboardInterrupt:
        echo.end()
        return _interrupted(ctx, begun)
    except InvalidMessage as error:
        echo.end()
        ctx.out.warn(error.message.removeprefix("error: "))
        _show_errors(ctx, provider, *end)
        return Outcome(REFUSED, None)
    except ReelError as error:
        echo.end()
        if begun is not None and run is not None and "kept" not in error.data:
            _keep(ctx, agent, provider, begun)
        raise
    return _finished(ctx, provider, begun, echo, end)


def _finished(ctx: Context, provider: Provider, answer: Answer, echo: Echo, end: tuple[int, str]) -> Outcome:
    """Print the rest of an answer, and what went wrong with it."""
    if not answer.streamed:
        echo.write(answer.text)
    echo.end()
    _show_errors(ctx, provider, *end)
    if answer.added is None:
        if end == (0, ""):
            ctx.out.warn(f"{provider.command} wrote nothing to stdout; it should write the provider's response")
        return Outcome(REFUSED, None)
    for call in answer.calls:
        ctx.out.warn(f"waiting for the result of {call.name} ({call.id}): {call.arguments_json}")
    if answer.added.late:
        said = count(answer.added.late, "message")
        ctx.out.warn(f"{said} came meanwhile, which this answer does not answer; the next request has them after it")
    if answer.interrupted:
        ctx.out.warn(f"the answer broke off: {answer.problem}; what arrived was added and marked as interrupted")
        return Outcome(REFUSED, answer.added)
    return Outcome(BROKEN_PIPE if echo.closed else OK, answer.added)


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
        ctx.out.warn(f"{provider.command} {describe_end(status)}")


def _keep(ctx: Context, agent: str, provider: Provider, answer: Answer) -> None:
    """Save an answer that cannot be added, and print the command that adds it."""
    path = keep_text(answer.response, ".json")
    again = ctx.command("ingest", agent, "--format", provider.format, path)
    ctx.out.warn(f"the answer was saved; add it with: {again}")
