"""A conversation in the words of a provider, going out and coming in."""

from collections.abc import Mapping
from typing import Any, Literal

from reel import replies
from reel.requests.calls import Call, call, reply_reader


def render(  # noqa: PLR0913, PLR0917 - as many as the protocol has
    agent: str,
    format: str,  # noqa: A002 - the protocol's own word
    at: int | None = None,
    model: str | None = None,
    extra: Mapping[str, Any] | str | None = None,
    budget: int | None = None,
    open: Literal["close", "refuse"] | None = None,  # noqa: A002 - the protocol's own word
    pin: str | None = None,
    after: replies.Prefix | Mapping[str, Any] | None = None,
) -> Call[replies.Rendered]:
    """Give the conversation as the body of a request, in the words of a provider.

    Args:
        agent: a name or an id.
        format: ``openai-chat``, ``openai-responses``, ``anthropic`` or ``gemini``.
        at: the state as it was at this seq.
        model: whose rules count; left out, the one in ``extra``.
        extra: what else the body is to have at its top, such as ``model``, ``tools``, ``max_tokens``: a map, or
            JSON text where it is deep.
        budget: how many tokens the history may have, estimated; the oldest turns go first.
        open: what becomes of calls without a result: a made-up result, or an error.
        pin: the label of a living mark; with a budget, all up to it is kept.
        after: the prefix of an earlier rendering, to learn whether this one extends it.

    Raises:
        Conflict: calls are open, and they should not be; ``data`` has them.
        TooLarge: not even the newest turn fits the budget, or the body is larger than a reply may be.
    """
    return call(
        "render",
        reply_reader(replies.Rendered),
        agent=agent,
        format=format,
        at=at,
        model=model,
        extra=extra if extra is None or isinstance(extra, str) else dict(extra),
        budget=budget,
        open=open,
        pin=pin,
        after=after._asdict() if isinstance(after, replies.Prefix) else after,
    )


def ingest(  # noqa: PLR0913 - as many as the protocol has
    agent: str,
    format: str,  # noqa: A002 - the protocol's own word
    body: str,
    model: str | None = None,
    create: bool | None = None,  # noqa: FBT001 - as in the protocol's words
    names: Mapping[str, str] | None = None,
    interrupted: bool | None = None,  # noqa: FBT001 - as in the protocol's words
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.Added]:
    """Add what a provider answered, and what it used.

    Args:
        agent: a name or an id.
        format: as in :func:`render`.
        body: the body of the response, or its event stream, as it came.
        model: who answered, where the body does not say.
        create: make the agent where there is none.
        names: those that the rendering sent tools under, as it gave them.
        interrupted: the answer broke off; of an event stream the daemon sees that itself.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat; the clients make one themselves.

    Raises:
        InvalidMessage: the body is no response of this API.
    """
    return call(
        "ingest",
        reply_reader(replies.Added),
        writes=True,
        agent=agent,
        format=format,
        body=body,
        model=model,
        create=create,
        names=None if names is None else dict(names),
        interrupted=interrupted,
        if_seq=if_seq,
        key=key,
    )


def load(
    agent: str,
    format: str,  # noqa: A002 - the protocol's own word
    body: str,
    model: str | None = None,
    create: bool | None = None,  # noqa: FBT001 - as in the protocol's words
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.Loaded]:
    """Add the history of a whole request: its prompt and its messages.

    Args:
        agent: a name or an id.
        format: as in :func:`render`.
        body: the body of the request, as it was sent.
        model: who made what the assistant says, where the body does not say.
        create: make the agent where there is none.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat; the clients make one themselves.

    Raises:
        InvalidMessage: the body is no request of this API, or goes on from something that is not in it.
    """
    return call(
        "load",
        reply_reader(replies.Loaded),
        writes=True,
        agent=agent,
        format=format,
        body=body,
        model=model,
        create=create,
        if_seq=if_seq,
        key=key,
    )
