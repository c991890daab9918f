"""Assembles the body of a request from prompt, ``extra`` and turns, cut to a budget, compared with an earlier one."""

from collections.abc import Iterable
from typing import Any, Literal

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json, encode
from reel.providers.changes import Change
from reeld.core.recent import Recent
from reeld.formats.binding import body_hash, without_thinking
from reeld.formats.breakpoints import Marked, mark_last, newest_marks, reserve, spliced
from reeld.formats.budget import Budget, fit_budget
from reeld.formats.encoded_turns import EncodedTurns
from reeld.formats.format import Format, Prompt
from reeld.formats.history import History
from reeld.formats.naming import with_dialect
from reeld.formats.prefix import Beginning, Prefix
from reeld.formats.render_state import RenderState, ServerState
from reeld.formats.top import mark_top, write_top
from reeld.wire.encoded import EncodedText

# The bytes around the list of items and its key.
_BRACKETS = len(',"":[]}')
# The approximate bytes of a placed breakpoint.
_MARK_SIZE = 64


class RenderRequest(NamedTuple):
    """How a conversation is to be rendered.

    Args:
        format: a key of ``FORMATS``.
        model: the model that will answer; without it, ``extra`` may name it.
        extra: what is added at the top of the body: a map, or the JSON text of one.
        budget: the size that is allowed, in estimated tokens.
        open: what to do about calls without a result: ``close`` synthesizes results, ``refuse`` raises Conflict.
        pin: the seq of the mark up to which everything must stay, whatever the budget is; 0 for no mark.
        after: the prefix of an earlier rendering, if the caller wants to know whether this one extends it.
        cache: for how long the common part of this request and the next one is cached, ``5m`` or ``1h``, if the
            provider wants cache breakpoints; without it, or if the body has its own, none are placed.
        now: the time in seconds since 1970, for state that expires at the provider; without it nothing has expired.
        dialect: the dialect of the format that the server speaks; without it, the one that the model's name implies.
        tools: the names of the tools that the model has; calls of others are sent as text. Without it, all are calls.
    """

    format: str
    model: str | None = None
    extra: Json | str | None = None
    budget: int | None = None
    open: Literal["close", "refuse"] = "close"
    pin: int = 0
    after: Prefix | None = None
    cache: Literal["5m", "1h"] | None = None
    now: float = 0
    dialect: str | None = None
    tools: frozenset[str] | None = None


class Rendered(NamedTuple):
    """What rendering returns; its fields are the protocol's.

    Args:
        format: the name of the format.
        text: JSON text, ready to be sent.
        report: what was not rendered as it is stored.
        ready: whether the provider has something to answer.
        names: the tools that are sent under another name; the keys are the names that are sent.
        prefix: the prefix that later renderings share.
        extends: whether the body begins with ``after``; ``None`` if that was not asked.
        betas: what the header of the request declares.
    """

    format: str
    text: EncodedText
    report: list[Change]
    ready: bool
    names: dict[str, str]
    prefix: Prefix
    extends: bool | None
    betas: list[str] = []  # noqa: RUF012 - nobody changes it

    @property
    def body(self) -> str:
        """The text as a string."""
        return str(self.text)

    def as_map(self) -> dict[str, Any]:
        """Return the form that goes over the wire."""
        shown: dict[str, Any] = {
            "format": self.format,
            "body": self.text,
            "report": [change.as_map() for change in self.report],
            "ready": self.ready,
            "prefix": self.prefix._asdict(),
        }
        if not self.ready:
            shown["needs"] = "user"
        if self.names:
            shown["names"] = self.names
        if self.extends is not None:
            shown["extends"] = self.extends
        if self.betas:
            shown["betas"] = self.betas
        return shown


class OpenTurns(NamedTuple):
    """The turns of the open exchanges, the report about them, and the newest state that a server keeps."""

    turns: EncodedTurns
    report: list[Change]
    server_state: ServerState | None


def assemble(  # noqa: PLR0913 - what a body is made of
    request: RenderRequest,
    target: Format,
    extra: Json,
    prompt: Prompt | None,
    recent: Recent,
    state: RenderState,
    rest: OpenTurns,
    *,
    ready: bool,
    previous: RenderState | None,
) -> Rendered:
    """Assemble a body.

    Args:
        request: how it is to be rendered.
        target: the format.
        extra: what is added at the top.
        prompt: the system prompt.
        recent: the entries of the history, and what comes before them.
        state: the settled turns.
        rest: the open turns.
        ready: whether the provider has something to answer.
        previous: the state of an earlier rendering, if the conversation has moved since.

    Raises:
        TooLarge: not even the newest turn fits the budget.
        TooRecent: the budget has room for what comes before.
    """
    history = History(EncodedTurns() if rest.turns.is_anew else state.turns, rest.turns)
    top = write_top(target, extra, prompt, state, rest.server_state, request.now)
    top, room, placed = mark_top(top, target, history, prompt, state.model, request.cache)
    fields, report = encode(top.fields).encode(), [*top.report, *state.report, *rest.report]
    if request.budget is not None:
        marks = reserve(history) + (_MARK_SIZE if placed else 0)
        base = len(fields) + len(target.history_key) + _BRACKETS + len(top.leading.data) + marks
        whole, budget = history, Budget(request.budget, request.pin, base)
        history, report = fit_budget(budget, target, history, recent, report)
        if state.bound_to and history is not whole:
            history, report = without_thinking(history, report)
    settled, open_ = list[Marked](), list[Marked]()
    if placed is not None and target.caching is not None:
        settled = mark_last(history.settled, target.caching, placed, state.model)
    elif target.caching is not None:
        (settled, open_), left_out = newest_marks(history, room, target.caching)
        report += left_out
    beginning = Beginning(top.digest, prompt, top.leading, state.model, history)
    settled_items = top.leading.count + history.settled.count
    bound_to = body_hash(top.digest, history.hash(history.items))
    prefix = Prefix(settled_items, beginning.hash(settled_items), with_dialect(bound_to, target.signed_in))
    extends = None
    if request.after is not None:
        extends = beginning.extends(request.after)
        if not extends:
            report.append(beginning.change_since(request.after, None if previous is None else previous.turns))
    turns = (*spliced(top.leading, []), *spliced(history.settled, settled), *spliced(history.open, open_))
    text = _joined(target, fields, turns)
    return Rendered(request.format, text, report, ready, top.names, prefix, extends, top.betas)


def _joined(target: Format, top: bytes, turns: Iterable[bytes | memoryview]) -> EncodedText:
    """Return the text of the body: the keys at the top, then the list of items, which may be large, not copied."""
    opening = b"{" if top == b"{}" else top[:-1] + b","
    parts: list[bytes | memoryview] = [b"".join((opening, encode(target.history_key).encode(), b":[")), *turns]
    if len(parts) > 1:
        # The comma after the last item.
        parts[-1] = parts[-1][:-1]
    return EncodedText([*parts, b"]}"])
