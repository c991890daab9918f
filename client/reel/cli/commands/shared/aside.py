"""A question about a conversation that is no part of it: for a summary, or a title."""

from __future__ import annotations

from reel.base.errors import InvalidMessage, ProtocolMismatch
from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.base.process_end import describe_end
from reel.base.strict_json import encode, parse
from reel.cli.commands.shared.running import run
from reel.cli.line.ending import ended_by_signals
from reel.cli.line.exits import CUT, INTERRUPTED, REFUSED
from reel.reading.cuts import broke_off, why_cut
from reel.reading.fullness import ASIDE
from reel.reading.tokens import Tokens, tokens_in
from reel.streams.response import IncomingResponse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reel.cli.commands.shared.provider import Provider
    from reel.cli.line.context import Context
    from reel.replies import Parsed, Rendered
    from reel.said.messages import NewRecord


class Aside(NamedTuple):
    """What a model answered: a whole text, the model, and its tokens."""

    text: str
    model: str | None
    tokens: Tokens | None
    # What counts them, for the log.
    usage: list[NewRecord]


class Unanswered(Exception):
    """There is no whole answer.

    Args:
        status: the exit status.
        why: the reason.
        details: what the provider or the command said, line by line.
    """

    def __init__(self, status: int, why: str, details: tuple[str, ...] = ()) -> None:
        super().__init__(why)
        self.status = status
        self.why = why
        self.details = details


def ask_aside(
    ctx: Context, agent: str, provider: Provider, question: str, waiting: str, upto: int | None = None
) -> Aside:
    """Ask a model about a conversation, and add nothing; return its answer.

    Args:
        ctx: the command's context.
        agent: the conversation.
        provider: who is asked.
        question: what is asked.
        waiting: what to tell a person who waits.
        upto: the seq up to which the question is about. Default: all.

    Raises:
        Unanswered: no answer came, or it is not whole, or it is a call.
        ProtocolMismatch: the daemon is too old.
        Ended: a signal ends the command.
    """
    rendered = _render(ctx, agent, provider, question, upto)
    response = IncomingResponse(provider.format)
    with ctx.out.waiting(waiting, midway=True):
        status, errors = _receive(provider, rendered, response)
    details = (*errors.splitlines(), *([f"{provider.name} {describe_end(status)}"] if status else []))
    if not response.anything:
        raise Unanswered(REFUSED, f"{provider.name} did not answer", details)
    try:
        parsed = ctx.client.parse(
            provider.format, response.body(), provider.model, rendered.names, not response.complete or None
        )
    except InvalidMessage as error:
        raise Unanswered(REFUSED, error.message.removeprefix("error: "), details) from None
    return _whole(parsed, response, details)


def _render(ctx: Context, agent: str, provider: Provider, question: str, upto: int | None) -> Rendered:
    ctx.client.connect()
    if ctx.client.server is not None and "asides" not in ctx.client.server.features:
        raise ProtocolMismatch(
            "the daemon is older than this reel, and cannot ask a model about a conversation;"
            " restart it: reel stop; reel start"
        )
    return ctx.client.render(
        agent,
        provider.format,
        extra=provider.extra,
        budget=provider.budget,
        cache=provider.cache,
        dialect=provider.dialect,
        tools=provider.tools,
        then=question,
        upto=upto,
    )


def _receive(provider: Provider, rendered: Rendered, response: IncomingResponse) -> tuple[int, str]:
    """Take the response; return the exit status of the command, and what went wrong.

    Raises:
        Unanswered: the user interrupted it.
        Ended: a signal ends the command.
    """
    with ended_by_signals():
        running = run(provider, rendered)
        try:
            for piece in running:
                response.feed(piece)
        except KeyboardInterrupt:
            raise Unanswered(INTERRUPTED, "interrupted") from None
        finally:
            end = running.close()
    response.end()
    return end


def _whole(parsed: Parsed, response: IncomingResponse, details: tuple[str, ...]) -> Aside:
    """Return an answer.

    Raises:
        Unanswered: it is not whole, or it is a call.
    """
    message = parsed.message
    if not response.complete:
        raise Unanswered(REFUSED, broke_off(response.problem), details)
    if (why := why_cut(message)) is not None:
        raise Unanswered(CUT, f"the answer is not whole: {why}", details)
    blocks = [block for block in message["content"] if not isinstance(block, str)]
    if calls := [block["name"] for block in blocks if block["type"] == "tool_call"]:
        raise Unanswered(CUT, f"the model called {calls[0]} in place of an answer", details)
    text = "".join(block["text"] for block in blocks if block["type"] == "text").strip()
    if not text:
        raise Unanswered(CUT, "the answer has no text", details)
    metadata = message.get("provider_metadata", {})
    model = metadata.get("model")
    return Aside(text, model if isinstance(model, str) else None, tokens_in(metadata), _usage(parsed.records))


def _usage(records: Iterable[NewRecord]) -> list[NewRecord]:
    """Return the records that count tokens, marked: they do not count what the conversation takes."""
    found: list[NewRecord] = []
    for record in records:
        if record["kind"] == "usage":
            data = {**parse(record.get("data_json") or "{}"), ASIDE: True}
            found.append({"kind": "usage", "data_json": encode(data)})
    return found
