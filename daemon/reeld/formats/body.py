"""Assembles the body of a request from prompt, ``extra`` and turns, cut to a budget, compared with an earlier one."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from reel.base.errors import TooLarge
from reel.base.strict_json import Json, encode
from reel.providers.changes import Change
from reeld.core.recent import Recent
from reeld.formats.begun_turn import hash_of
from reeld.formats.binding import body_hash, without_thinking
from reeld.formats.breakpoints import Marked, has_marks, mark_last, newest_marks, reserve, spliced, too_many
from reeld.formats.budget import BYTES_PER_TOKEN, Cut, find_cut
from reeld.formats.format import Format, Prompt, PromptPart
from reeld.formats.model import RenderContext
from reeld.formats.naming import sent_name, with_dialect
from reeld.formats.render_state import DIGEST_SIZE, EncodedTurns, RenderState, ServerState, TurnExtents, digest
from reeld.formats.repair import PLACEHOLDER_TURN
from reeld.formats.tool_names import rename_tools
from reeld.wire.encoded import EncodedText

# The bytes around the list of items and its key.
_BRACKETS = len(',"":[]}')
# The approximate bytes of a placed breakpoint.
_MARK_SIZE = 64
# The hexadecimal digits of the two digests in a prefix's hash; the rest identifies the model.
_HASH_SIZE = 4 * DIGEST_SIZE
_MODEL_SIZE = 8


class TooRecent(Exception):
    """A budget has room for more than the entries that were given."""


class Prefix(NamedTuple):
    """The settled beginning of a rendered history: how many items, and a hash of model, prompt, tools and items.

    ``body`` is a hash of all that was sent: what an answer is bound to (:mod:`reeld.formats.binding`).
    """

    messages: int
    hash: str
    body: str = ""


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


class _History(NamedTuple):
    """The turns of a history: the settled ones, and the others."""

    settled: EncodedTurns
    open: EncodedTurns

    @property
    def extents(self) -> TurnExtents:
        return self.settled.extents.followed_by(self.open.extents)

    @property
    def offsets(self) -> list[int]:
        """Where the bytes of each turn begin, and where those of the last one end."""
        before = self.settled.offsets()
        return [*before[:-1], *(before[-1] + offset for offset in self.open.offsets())]

    def digest(self, items: int) -> bytes:
        """Return a digest of the first items."""
        found = self.settled.hash(min(items, self.settled.count))
        for part in self.open.data.parts(0, sum(self.open.sizes[: max(items - self.settled.count, 0)])):
            found.update(part)
        made: bytes = found.digest()[:DIGEST_SIZE]
        return made

    @property
    def data(self) -> bytes:
        """All bytes."""
        return b"".join([part for turns in self for part in turns.data.parts(0, len(turns.data))])


class _Comparison(NamedTuple):
    """The inputs of a prefix's hash.

    Args:
        top: a digest of the prompt at the top of the body, and of the tools.
        prompt: the prompt.
        leading: the items before the history that the prompt became.
        model: the model's identity; empty if it is not known.
    """

    top: bytes
    prompt: Prompt | None
    leading: EncodedTurns
    model: str

    def prefix(self, history: _History, items: int) -> Prefix:
        """Return the prefix of so many items, those of the prompt among them."""
        first = min(items, self.leading.count)
        digests = self.leading.hash(first).digest() + history.digest(items - first)
        return Prefix(items, self.top.hex() + digest(digests).hex() + self.model)

    def begins_with(self, after: Prefix, history: _History) -> bool:
        """Whether the first items of a history, with prompt and tools, have the hash of an earlier prefix."""
        found = self.prefix(history, after.messages)
        return found.hash[:_HASH_SIZE] == after.hash[:_HASH_SIZE] and not self.is_of_another_model(after)

    def is_of_another_model(self, after: Prefix) -> bool:
        """Whether an earlier prefix was for another model; one that is not known is not another."""
        earlier = after.hash[_HASH_SIZE:]
        return bool(earlier and self.model) and earlier != self.model


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
    names = dict(state.repair.tool_names)
    context = RenderContext(state.model)
    part = PromptPart({}, []) if prompt is None else target.write_prompt(prompt, context)
    if rest.server_state is not None:
        extra, notice = target.continue_state(extra, rest.server_state.value, request.now)
        if notice is not None:
            context.report.append(Change(rest.server_state.seq, None, *notice))
    fields = {**target.defaults, **_with_sent_names(target, extra, names), **part.fields}
    if (betas := target.betas(extra, state.settings.declared)) and target.betas_key is not None:
        fields = {target.betas_key: betas, **fields}
    if target.has_model and state.model is not None:
        fields = {"model": state.model, **fields}
    leading = EncodedTurns()
    leading.add(part.items, prompt.seq if prompt else 0, is_user=False, can_begin=False)
    compared = _Comparison(_top_digest(target, fields, part), prompt, leading, _tag(state.model))
    history = _History(EncodedTurns() if rest.turns.is_anew else state.turns, rest.turns)
    fields, room, placed = _mark_top(request, target, fields, history, prompt, context)
    top = encode(fields).encode()
    report = [*context.report, *state.report, *rest.report]
    if request.budget is not None:
        marks = reserve((history.settled, history.open)) + (_MARK_SIZE if placed else 0)
        base = len(top) + len(target.history_key) + _BRACKETS + len(leading.data) + marks
        whole = history
        history, report = _fit_budget(request.budget, request.pin, base, target, history, recent, report)
        if state.bound_to and history is not whole:
            history, report = _without_thinking(history, report)
    settled, open_ = list[Marked](), list[Marked]()
    if placed is not None and target.caching is not None:
        settled = mark_last(history.settled, target.caching, placed, state.model)
    elif target.caching is not None:
        (settled, open_), left_out = newest_marks((history.settled, history.open), room, target.caching)
        report += left_out
    prefix = compared.prefix(history, leading.count + history.settled.count)
    bound_to = body_hash(state.bound_to or compared.top, hash_of((history.settled, history.open)))
    prefix = prefix._replace(body=with_dialect(bound_to, target.signed_in))
    extends = None
    if request.after is not None:
        extends = compared.begins_with(request.after, history)
        if not extends:
            report.append(_prefix_change(request.after, compared, history, previous))
    turns = (*spliced(leading, []), *spliced(history.settled, settled), *spliced(history.open, open_))
    return Rendered(request.format, _joined(target, top, turns), report, ready, names, prefix, extends, betas)


def top_digest(target: Format, extra: Json, prompt: Prompt | None, model: str | None) -> bytes:
    """Return a digest of the prompt and the tools as they will be sent, which thinking is bound to besides messages."""
    part = PromptPart({}, []) if prompt is None else target.write_prompt(prompt, RenderContext(model))
    return _top_digest(target, _with_sent_names(target, extra, {}), part)


def _top_digest(target: Format, fields: Json, part: PromptPart) -> bytes:
    """Return a digest of the prompt and the tools, without cache breakpoints and without which tool is to be called."""
    prompt, tools = part.fields, fields.get(target.tools_key)
    if target.caching is not None:
        prompt = {key: target.caching.unmarked(found) for key, found in prompt.items()}
        tools = target.caching.unmarked(tools)
    return digest(encode([prompt, tools]).encode())


def _mark_top(
    request: RenderRequest,
    target: Format,
    fields: Json,
    history: _History,
    prompt: Prompt | None,
    context: RenderContext,
) -> tuple[Json, int, str | None]:
    """Limit the cache breakpoints of a body without its history, or place them (rules A7 and A15).

    Returns:
        the fields, how many breakpoints the history may have, and the time to live of those that are placed.
    """
    if target.caching is None:
        return fields, 0, None
    own = has_marks(fields, target.caching) or history.settled.marked or history.open.marked
    if request.cache is not None and not own:
        return target.caching.mark_top(fields, request.cache, context.model), 0, request.cache
    fields, left_out, room = target.caching.fit_top(fields)
    context.report += too_many(left_out, prompt.seq if prompt else None)
    return fields, room, None


def _tag(model: str | None) -> str:
    return "" if model is None else digest(model.encode()).hex()[:_MODEL_SIZE]


def _joined(target: Format, top: bytes, turns: Iterable[bytes | memoryview]) -> EncodedText:
    """Return the text of the body: the keys at the top, then the list of items, which may be large, not copied."""
    opening = b"{" if top == b"{}" else top[:-1] + b","
    parts: list[bytes | memoryview] = [b"".join((opening, encode(target.history_key).encode(), b":[")), *turns]
    if len(parts) > 1:
        # The comma after the last item.
        parts[-1] = parts[-1][:-1]
    return EncodedText([*parts, b"]}"])


def _with_sent_names(target: Format, extra: Json, names: dict[str, str]) -> Json:
    """Return ``extra`` with the names under which tools are sent, and note in ``names`` those that differ."""

    def send(given: str) -> str:
        name = sent_name(given)
        if name != given:
            names[name] = given
        return name

    return rename_tools({key: extra[key] for key in extra if key not in target.unsent_keys}, target.tool_names, send)


def _fit_budget(
    budget: int, pin: int, base: int, target: Format, history: _History, recent: Recent, report: list[Change]
) -> tuple[_History, list[Change]]:
    """Leave out the turns that exceed the budget."""
    turns = history.extents
    pinned = sum(seq <= pin for seq in turns.seqs)
    filler = _placeholder_turn(target)
    cut = find_cut(turns, history.offsets, pinned, base + len(filler.data), budget * BYTES_PER_TOKEN)
    if cut is None:
        raise TooLarge(
            f"budget: the newest turn does not fit {budget} tokens (of {BYTES_PER_TOKEN} bytes) together with the "
            "prompt, extra and the pinned messages; raise the budget, or leave the pin out",
            budget=budget,
        )
    if cut.start == cut.end:
        if recent.earlier is not None:
            raise TooRecent
        return history, report
    first, after = turns.seqs[cut.start], turns.seqs[cut.end]
    why = f"over the budget: {recent.messages(first, after)} messages, before seq {after}"
    if recent.earlier is not None:
        first = recent.earlier.first
    kept = [change for change in report if change.seq is None or not first <= change.seq < after]
    needed = target.alternates and not turns.is_user[cut.end]
    return _drop_range(history, cut, filler if needed else EncodedTurns()), [Change(first, None, "dropped", why), *kept]


def _without_thinking(history: _History, report: list[Change]) -> tuple[_History, list[Change]]:
    """Return a history that lost its beginning without the thinking that was bound to it (rule A8)."""
    left = _History(*(turns.rewritten(without_thinking) for turns in history))
    if len(left.data) == len(history.data):
        return history, report
    why = "thinking: it is bound to what was before it, of which the budget leaves out a part"
    return left, [*report, Change(history.extents.seqs[0], None, "dropped", why)]


def _placeholder_turn(target: Format) -> EncodedTurns:
    """Return the user turn that comes first if a history continues with the assistant's turn after a cut."""
    filler = EncodedTurns()
    if target.alternates:
        filler.add(target.write_turn(PLACEHOLDER_TURN, RenderContext(None)), 0, is_user=True, can_begin=True)
    return filler


def _drop_range(history: _History, cut: Cut, filler: EncodedTurns) -> _History:
    """Return the history without the turns of a cut, which may extend into the open turns."""
    border = history.settled.extents.turns
    settled = history.settled.slice(0, min(cut.start, border))
    rest = history.open.slice(0, max(cut.start - border, 0))
    (settled if cut.end < border else rest).extend(filler)
    settled.extend(history.settled.slice(min(cut.end, border), border))
    rest.extend(history.open.slice(max(cut.end - border, 0), history.open.extents.turns))
    return _History(settled, rest)


def _prefix_change(after: Prefix, compared: _Comparison, history: _History, previous: RenderState | None) -> Change:
    """Return the report line with the seq at which this rendering first differs from an earlier prefix."""
    seqs = history.extents.seqs
    first = seqs[0] if seqs else None
    if compared.is_of_another_model(after):
        return Change(first, None, "prefix_changed", "the model has changed")
    if not after.hash.startswith(compared.top.hex()):
        seq = compared.prompt.seq if compared.prompt else first
        return Change(seq, None, "prefix_changed", "the prompt or the tools have changed")
    if previous is None or not compared.begins_with(after, _History(previous.turns, EncodedTurns())):
        return Change(first, None, "prefix_changed", "the given prefix is not the beginning of this history")
    return Change(
        _first_difference(previous.turns, history), None, "prefix_changed", "the history differs from here on"
    )


def _first_difference(earlier: EncodedTurns, history: _History) -> int | None:
    """Return the seq of the first turn that has changed; ``None`` if none has."""
    before, now, offsets = earlier.data.read(0, len(earlier.data)), history.data, history.offsets
    turns = range(len(offsets) - 1)
    # If a turn has changed, so has every prefix that ends with a later one.
    turn = bisect_left(turns, True, key=lambda index: now[: offsets[index + 1]] != before[: offsets[index + 1]])
    return history.extents.seqs[turn] if turn < len(turns) else None
