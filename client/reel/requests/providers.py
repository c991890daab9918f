"""Conversations in the format of a provider: renders them, and adds responses and whole requests."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from reel import replies
from reel.base.errors import InvalidParams
from reel.base.light_typing import TYPE_CHECKING
from reel.requests.calls import Call, call, reply_reader
from reel.requests.commands import messages_of

if TYPE_CHECKING:
    from typing import Any, Literal

    from reel.said.formats import Body, Dialect, Format
    from reel.said.messages import Addables


def render(  # noqa: PLR0913, PLR0917 - the parameters of the protocol
    agent: str,
    format: Format,  # noqa: A002 - the protocol's name
    at: int | None = None,
    model: str | None = None,
    extra: Mapping[str, Any] | str | None = None,
    budget: int | None = None,
    open: Literal["close", "refuse"] | None = None,  # noqa: A002 - the protocol's name
    pin: str | None = None,
    after: replies.Prefix | Mapping[str, Any] | None = None,
    cache: Literal["5m", "1h"] | None = None,
    dialect: Dialect | None = None,
    tools: Collection[str] | None = None,
    then: Addables | None = None,
    upto: int | None = None,
) -> Call[replies.Rendered]:
    """Render the conversation as the body of a request to a provider.

    Args:
        agent: a name or an id.
        format: one of ``FORMATS``, such as ``anthropic``.
        at: the conversation at this seq.
        model: the model to render for. Default: the one in ``extra``.
        extra: further fields of the body, such as ``model``, ``tools``, ``max_tokens``: a map, or JSON text if it is
            deeply nested.
        budget: the maximum number of tokens of the history, estimated; the oldest turns are left out first.
        open: what to do about calls without a result: ``close`` adds a generated one, ``refuse`` raises ``Conflict``.
        pin: the label of a mark; with a budget, everything before the mark is kept.
        after: the prefix of an earlier rendering; the reply says whether this one extends it.
        cache: place cache breakpoints for Anthropic and Bedrock, with this time to live, unless the body has some
            already. The other providers cache without breakpoints.
        dialect: the server that speaks the format: ``deepseek``, ``openrouter`` or ``vllm`` of ``openai-chat``,
            ``vertex`` or ``bedrock-invoke`` of ``anthropic``, ``ai-studio`` or ``vertex`` of ``gemini``. Servers accept
            different requests. Default: derived from the name of the model, otherwise the format's own API.
        tools: the names of the tools that the model has. Calls of other tools, such as another program's, and their
            results are sent as text. Default: all calls are sent as calls.
        then: messages that are rendered behind the conversation and not added to it: a question about it. A daemon
            knows this if the ``features`` of its ``hello`` name ``asides``.
        upto: leave out the records after this seq; unlike with ``at``, the prompt is the current one, and a command may
            be divided. A daemon knows this together with ``then``.

    Raises:
        Conflict: with ``open="refuse"``, calls have no result; ``data`` lists them.
        TooLarge: not even the newest turn fits the budget, or the body is longer than a reply may be.
    """
    given = {**locals(), "after": _prefix_map(after), "then": None if then is None else messages_of(then)}
    return call("render", reply_reader(replies.Rendered), given)


def answer(  # noqa: PLR0913 - the parameters of the protocol
    agent: str,
    format: Format,  # noqa: A002 - the protocol's name
    extra: Mapping[str, Any] | str | None = None,
    *,
    model: str | None = None,
    budget: int | None = None,
    open: Literal["close", "refuse"] | None = None,  # noqa: A002 - the protocol's name
    pin: str | None = None,
    cache: Literal["5m", "1h"] | None = None,
    dialect: Dialect | None = None,
    tools: Collection[str] | None = None,
) -> Call[replies.Rendered]:
    """Let a model answer: a context manager that renders the conversation and adds the response that it is fed.

    While a stream is fed, others see it as a draft. At the end of the block the answer is added, whatever came after
    what it answers; if that is gone from the conversation, a note in the log keeps it. If the answer is incomplete, or
    the block is left by an exception, the part that arrived is added and marked as interrupted. If nothing was fed,
    nothing is added. Afterwards, ``answer.calls`` has the tool calls. With :mod:`reel.aio`, use ``async with`` and
    await ``feed``.

    Args:
        agent: a name or an id.
        format: one of ``FORMATS``, such as ``anthropic``.
        extra: further fields of the body, such as ``model``, ``tools``, ``max_tokens``, ``stream``.
        model: the model to render for, and that answers if the response does not name one. Default: the one in
            ``extra``.
        budget: the most tokens of the history, estimated; the oldest turns are left out first.
        open: what to do about calls without a result: ``close`` them with a made-up result, or ``refuse``.
        pin: the label of a mark; with a budget, everything before the mark is kept.
        cache: as in :func:`render`.
        dialect: as in :func:`render`.
        tools: as in :func:`render`.

    Raises:
        InvalidMessage: the text that was fed is not a response, but, for example, the provider's error.
        Conflict: what it answers is not in the conversation any more; ``data`` has the seq of the note that keeps the
            answer, as ``kept``.
    """
    return render(**locals())


def ingest(  # noqa: PLR0913 - the parameters of the protocol
    agent: str,
    format: Format,  # noqa: A002 - the protocol's name
    body: Body,
    model: str | None = None,
    create: bool | None = None,  # noqa: FBT001 - in the protocol's order
    names: Mapping[str, str] | None = None,
    interrupted: bool | None = None,  # noqa: FBT001 - in the protocol's order
    prefix: replies.Prefix | Mapping[str, Any] | None = None,
    *,
    if_stands: int | None = None,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.Added]:
    """Add the response of a provider, with its token counts.

    Args:
        agent: a name or an id.
        format: as in :func:`render`.
        body: the body of the response, or its event stream, as it was received; or the response as a map or as an
            object of the provider's SDK.
        model: the requested model, which counts as the one that answered if the body names none. Default: the model
            that the conversation was rendered for.
        create: create the agent if it does not exist.
        names: the ``names`` of the rendering, if tools were sent under other names.
        interrupted: the response broke off; the daemon detects this itself in an event stream.
        prefix: the ``prefix`` of the rendering that it answers. Newer Claude models bind their thinking to it; if it is
            not known, their thinking does not go back. Default: that of the last rendering, if it was the only one.
        if_stands: only if the record with this seq, the ``newest`` of the rendering, is still in the conversation,
            under the same system prompt. Whatever came after it is no obstacle. Not together with ``if_seq``.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.

    Raises:
        InvalidMessage: the body is not a response of this API.
    """
    if isinstance(prefix, replies.Prefix) and not prefix.body:
        prefix = None  # of an older daemon, whose `ingest` does not know the parameter
    given = {**locals(), "body": _text_of(body, is_answer=True), "prefix": _prefix_map(prefix)}
    return call("ingest", reply_reader(replies.Added), given, writes=True)


def parse(
    format: Format,  # noqa: A002 - the protocol's name
    body: Body,
    model: str | None = None,
    names: Mapping[str, str] | None = None,
    interrupted: bool | None = None,  # noqa: FBT001 - in the protocol's order
) -> Call[replies.Parsed]:
    """Read the response of a provider as :func:`ingest` does, and add nothing.

    A daemon knows this if the ``features`` of its ``hello`` name ``asides``.

    Args:
        format: as in :func:`render`.
        body: as in :func:`ingest`.
        model: the requested model.
        names: the ``names`` of the rendering, if tools were sent under other names.
        interrupted: the response broke off; the daemon detects this itself in an event stream.

    Raises:
        InvalidMessage: the body is not a response of this API.
    """
    return call("parse", reply_reader(replies.Parsed), {**locals(), "body": _text_of(body, is_answer=True)})


def _prefix_map(prefix: replies.Prefix | Mapping[str, Any] | None) -> Any:
    """Return a prefix as it was received; an older daemon knows no hash of the body, and gave none."""
    if not isinstance(prefix, replies.Prefix):
        return prefix
    return {key: value for key, value in prefix._asdict().items() if value != ""}


def load(
    agent: str,
    format: Format,  # noqa: A002 - the protocol's name
    body: Body,
    model: str | None = None,
    create: bool | None = None,  # noqa: FBT001 - in the protocol's order
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.Loaded]:
    """Add the history of a whole request: its prompt and its messages.

    Args:
        agent: a name or an id.
        format: as in :func:`render`.
        body: the body of the request, as it was sent to the provider, or as a map.
        model: the model that wrote the assistant's messages, if the body does not name it.
        create: create the agent if it does not exist.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.

    Raises:
        InvalidMessage: the body is not a request of this API, or continues a conversation that is not in it.
    """
    return call("load", reply_reader(replies.Loaded), {**locals(), "body": _text_of(body)}, writes=True)


def _text_of(body: Body, *, is_answer: bool = False) -> str:
    from reel.said.formats import json_text  # noqa: PLC0415 - most requests have no body

    try:
        return json_text(body, is_answer=is_answer)
    except ValueError as error:
        raise InvalidParams(f"body: {error}", field="body") from None
