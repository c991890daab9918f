"""Rendering: a conversation as the body of a request to any provider. The daemon calls :func:`render`.

Messages are unpacked, repaired (:mod:`~reeld.formats.repair`), written turn by turn by a
:class:`~reeld.formats.format.Format`, and put into a body (:mod:`~reeld.formats.body`). The settled part is kept in a
:class:`~reeld.formats.render_state.RenderState`, whose theory of operation says how the next rendering uses it.
"""

from collections.abc import Sequence

from reel.base.errors import Conflict, InvalidParams
from reel.base.strict_json import Json, encode, encode_each, parse
from reel.base.values import has_number_as_text, new_tuple
from reel.providers.changes import Change
from reel.providers.json_values import is_sendable
from reel.providers.metadata import opaque_object, restore_key
from reel.said.blocks import InvalidRecord
from reel.said.records import Parts, metadata_in, parse_data, read_exactly, system_text
from reel.wire.short_messages import unpacked_all
from reeld.core.events import Entry
from reeld.core.recent import Earlier, Recent
from reeld.formats.around_texts import NOT_KNOWN, AroundTurns, around_turns
from reeld.formats.binding import Binding
from reeld.formats.body import OpenTurns, Rendered, RenderRequest, assemble
from reeld.formats.encoded_turns import EncodedTurn, EncodedTurns, Marks
from reeld.formats.format import Format, Prompt
from reeld.formats.lateness import in_turn
from reeld.formats.model import HistorySettings, RenderContext, Turn, UserTurn
from reeld.formats.render_state import RenderState, ServerState
from reeld.formats.repair import COMPACTED, Exchange, Repaired, repair
from reeld.formats.table import FORMATS
from reeld.formats.top import top_digest

_METADATA = "provider_metadata"
# The stop reason of a turn that the provider wants to continue (rule A11).
_PAUSED = "pause_turn"
# Characters of a model's name, as of the parameter ``model``.
_LONGEST_MODEL = 256
# How many messages are repaired at a time: so few that what is made of them is gone before the garbage collector of the
# daemon looks at it (:mod:`reeld.memory`), and so many that it costs nothing that each batch repairs its last exchange
# again. With 60, a first rendering took up to 6 % longer; with 500, at most 1 % less.
_BATCH = 250
# How many turns are appended together, or one more: until then each is in memory twice.
_TOGETHER = 64


def render(
    request: RenderRequest,
    entries: list[Entry],
    prompt: Entry | None = None,
    state: RenderState | None = None,
    earlier: Earlier | None = None,
) -> tuple[Rendered, RenderState]:
    """Render a conversation.

    Args:
        request: how.
        entries: its entries, in their order; with a budget, its newest ones are enough.
        prompt: the system event in force.
        state: the state that an earlier rendering of this conversation returned, whatever its request was. It is
            consumed.
        earlier: what comes before these entries; ``None`` if nothing does.

    Returns:
        what was rendered, and the state for the next time.

    Raises:
        InvalidParams: the format or its dialect is unknown, or ``extra`` is invalid, by itself or with this history.
        Conflict: there are open calls, and the request refuses them.
        TooLarge: not even the newest turn fits the budget.
        TooRecent: the budget has room for what comes before these entries.
    """
    history = Recent(entries, earlier)
    target = _format(request.format)
    extra = _extra(request, target)
    model = extra.get("model", request.model)
    target = _dialect(target, request.dialect, model)
    said = _prompt(prompt)
    settings = target.history_settings(extra, said, model)._replace(tools=request.tools)
    undeclared = top_digest(target, extra, said, model) if target.binds_thinking(model, extra) else b""

    def bound_to(mentioned: ServerState | None) -> bytes:
        """Return what thinking is bound to besides messages; tools are declared because of some (rule B7)."""
        if not undeclared or mentioned is None:
            return undeclared
        return top_digest(target, target.continue_state(extra, mentioned.value, request.now)[0], said, model)

    previous = None
    bound = bound_to(None if state is None else state.server_state)
    if state is None or not state.fits(target.name, model, settings, bound) or not state.covers(entries):
        previous, state = state, RenderState(target.name, model, settings, history, bound, undeclared)
    repaired, rest = _extend(state, entries, target, settings)
    if (bound := bound_to(rest.server_state)) != state.bound_to:
        previous, state = previous or state, RenderState(target.name, model, settings, history, bound, undeclared)
        repaired, rest = _extend(state, entries, target, settings)
    if request.open == "refuse" and repaired.open_calls:
        calls = [call.as_map() for call in repaired.open_calls]
        raise Conflict(f"{len(calls)} calls have no result; add the results, or use open=close", open_calls=calls)
    if (why := target.why_invalid(extra, repaired.loop, model)) is not None:
        raise InvalidParams(f"extra: {why}", field="extra")
    ready = _is_ready(repaired, target) and (repaired.ends_with_assistant or rest.turns.count > 0)
    return assemble(request, target, extra, said, history, state, rest, ready=ready, previous=previous), state


def _is_ready(repaired: Repaired, target: Format) -> bool:
    """Whether there is something to answer: the user's words, results, or a paused turn (rules X10, A12 and A18)."""
    if not repaired.ends_with_assistant:
        return repaired.asks
    pieces = repaired.open[-1].assistant.pieces
    if not target.resumable or not pieces or pieces[-1].block["type"] != "opaque":
        return False
    half = target.server_tool_half(pieces[-1].block)
    ended = restore_key(pieces[-1].metadata, target.provider, "finish_reason")
    is_summary = ended == COMPACTED and (opaque_object(pieces[-1].block) or {}).get("type") == COMPACTED
    return is_summary or (half is not None and (half.is_call or ended == _PAUSED))


def _format(name: str) -> Format:
    target = FORMATS.get(name)
    if target is None:
        raise InvalidParams(f"format: expected one of {', '.join(FORMATS)}, got {name!r}", field="format")
    return target


def _dialect(target: Format, name: str | None, model: str | None) -> Format:
    """Return a format in a dialect: the named one, else the one that the model's name implies."""
    if name is not None and name not in target.dialects:
        names = ", ".join(target.dialects)
        expected = f"expected one of {names}" if names else f"{target.name} has no dialects, leave it out"
        raise InvalidParams(f"dialect: {expected}, got {name!r}", field="dialect")
    return target if target.in_dialect is None else target.in_dialect(name, model)


def _extra(request: RenderRequest, target: Format) -> Json:
    """Return ``extra`` as a map, or raise InvalidParams if it is not one or would override the conversation."""
    extra = request.extra or {}
    if type(extra) is str:
        try:
            extra = parse(extra)
        except (ValueError, RecursionError) as error:
            raise InvalidParams(f"extra: invalid JSON: {error}", field="extra") from None
    if type(extra) is not dict or not is_sendable(extra, any_number=True):
        raise InvalidParams("extra: expected a map of values that JSON has", field="extra")
    try:
        encode(extra).encode()
    except UnicodeEncodeError:
        raise InvalidParams("extra: a text in it contains a lone surrogate (half a character)", field="extra") from None
    for key in extra:
        if key in target.reserved_keys:
            why = "comes from the conversation and cannot be overridden"
            raise InvalidParams(f"extra.{key}: {why}", field=f"extra.{key}")
    model = extra.get("model")
    if type(model) is str and len(model) > _LONGEST_MODEL:
        told = f"must have at most {_LONGEST_MODEL} characters, has {len(model)}"
        raise InvalidParams(f"extra.model: {told}", field="extra")
    if model is not None and (type(model) is not str or request.model not in (None, model)):
        raise InvalidParams(f"extra.model: {model!r} is not the requested model {request.model!r}", field="extra")
    return extra


def _prompt(entry: Entry | None) -> Prompt | None:
    text = system_text(entry.content) if entry else None
    if entry is None or text is None or not text.strip():
        return None
    try:
        data = parse_data(entry.data_json or "{}")
    except InvalidRecord:
        data = {}
    return Prompt(text, entry.seq, data)


def _extend(
    state: RenderState, entries: Sequence[Entry], target: Format, settings: HistorySettings
) -> tuple[Repaired, OpenTurns]:
    """Render the new entries: extend the state by the settled ones, and return the open turns."""
    around = around_turns(target, state.context(), len(entries) - state.count)
    repaired, server_state = _settle_all(state, entries, target, around)
    context = state.context()
    sent = len(state.sent_once)
    rest = OpenTurns(EncodedTurns(), [], server_state)
    binding = Binding((state.bound_to, state.undeclared), (state.turns, rest.turns), target) if state.bound_to else None
    _write(repaired.open[:-1], rest.turns, rest.report, context, target, NOT_KNOWN, binding, state.turns)
    context.thinking = settings.thinking or not repaired.ends_with_assistant
    context.is_last = bool(repaired.open) and not repaired.open[-1].assistant.pieces
    _write(repaired.open[-1:], rest.turns, rest.report, context, target, NOT_KNOWN, binding, state.turns)
    while len(state.sent_once) > sent:
        state.sent_once.popitem()
    return repaired, rest


def _settle_all(
    state: RenderState, entries: Sequence[Entry], target: Format, around: AroundTurns
) -> tuple[Repaired, ServerState | None]:
    """Repair all entries in batches, and return the result of the last repair.

    A batch in which nothing settles is repaired again with the next one, so the batches grow as long as nothing
    settles: 20,000 user messages without an answer take 0.4 s, and took 1.9 s with batches of one size.
    """
    batch = _BATCH
    while state.count + batch < len(entries):
        before = state.count
        _settle(state, entries, before + batch, target, around)
        batch = _BATCH if state.count > before else 2 * batch
    return _settle(state, entries, len(entries), target, around)


def _settle(
    state: RenderState, entries: Sequence[Entry], end: int, target: Format, around: AroundTurns
) -> tuple[Repaired, ServerState | None]:
    """Repair the entries from those that a state covers up to one, and extend it by the settled ones.

    Returns:
        what repair found, and the newest state that the server keeps, if there is one.
    """
    new = [*state.passed, *range(state.count, end)]
    shown = [index for index in new if entries[index].message is not None]
    messages = _messages([entries[index] for index in shown])
    if (order := in_turn(messages)) is not None:
        shown, messages = [shown[place] for place in order], [messages[place] for place in order]
    repaired = repair(messages, state.repair, target, state.model, state.settings)
    context = state.context()
    binding = Binding((state.bound_to, state.undeclared), (state.turns,), target) if state.bound_to else None
    _write(repaired.settled, state.turns, state.report, context, target, around, binding)
    if repaired.settled_messages:
        state.cover(entries, shown, repaired.settled_messages, repaired.settled_by)
    state.server_state = _server_state(messages[: repaired.settled_messages], target) or state.server_state
    return repaired, _server_state(messages[repaired.settled_messages :], target) or state.server_state


def _server_state(messages: Sequence[Json], target: Format) -> ServerState | None:
    """Return the newest server state that some messages mention."""
    if target.server_state is None:
        return None
    for message in reversed(messages):
        if message["role"] == "assistant" and (value := target.server_state(message)) is not None:
            return ServerState(message["seq"], value)
    return None


def _messages(entries: Sequence[Entry]) -> list[Json]:
    """Return the messages of entries with every number as stored, even if clients get it as text."""
    messages = unpacked_all([entry.message or b"" for entry in entries])
    for place, entry in enumerate(entries):
        # Only metadata has such numbers. Most messages have none, and searching the raw bytes is faster than parsing.
        data = entry.data_json
        if data is not None and (_METADATA in data or "\\u" in data):
            messages[place] = _exactly(messages[place], entry)
    return messages


def _exactly(message: Json, entry: Entry) -> Json:
    """Return a message with every number of its metadata as it is stored."""
    parts = Parts(message["role"], message["content"], message["provider_metadata"])
    if not has_number_as_text(metadata_in(parts)):
        return message
    exact = read_exactly(entry.kind, entry.content, entry.data_json) or parts
    return {**message, "content": exact.content, "provider_metadata": exact.provider_metadata}


def _write(
    exchanges: Sequence[Exchange],
    turns: EncodedTurns,
    report: list[Change],
    context: RenderContext,
    target: Format,
    around: AroundTurns,
    binding: Binding | None,
    before: EncodedTurns | None = None,
) -> None:
    """Append exchanges to some turns and to a report.

    Args:
        exchanges: the exchanges.
        turns: the turns.
        report: the report.
        context: what is known while a turn is written.
        target: the format.
        around: what it writes around a text, as far as it is known.
        binding: for a model that binds its thinking.
        before: the turns before these.
    """
    asked, answered = around
    # The turns that are not appended yet.
    new: list[EncodedTurn] = []
    for user, assistant, changes, seq, continues_server_tool in exchanges:
        context.report, context.follows_results = changes, False
        if (text := user.text) is not None and asked is not None:
            new.append(new_tuple(EncodedTurn, ([asked.sent(text)], seq, True, True)))
        else:
            _write_turn(user, seq, new, turns, context, target, can_begin=not user.results, before=None)
            context.follows_results = bool(user.results) and not user.pieces
        can_begin = not continues_server_tool
        if (text := assistant.text) is not None and answered is not None:
            new.append(new_tuple(EncodedTurn, ([answered.sent(text)], seq, False, can_begin)))
        else:
            if binding is not None:
                _append(new, turns)
                assistant = binding.keep_bound(assistant, context)  # noqa: PLW2901 - less of the same
            _write_turn(assistant, seq, new, turns, context, target, can_begin=can_begin, before=before)
        if changes:
            report += changes
        if len(new) >= _TOGETHER:
            _append(new, turns)
    _append(new, turns)


def _append(new: list[EncodedTurn], turns: EncodedTurns) -> None:
    turns.add_all(new)
    new.clear()


def _write_turn(
    turn: Turn,
    seq: int,
    new: list[EncodedTurn],
    turns: EncodedTurns,
    context: RenderContext,
    target: Format,
    *,
    can_begin: bool,
    before: EncodedTurns | None,
) -> None:
    items, is_user = target.write_turn(turn, context), type(turn) is UserTurn
    if not context.breakpoints and not context.has_summary:  # nearly always
        new.append(new_tuple(EncodedTurn, (encode_each(items), seq, is_user, can_begin and bool(items))))
        return
    _append(new, turns)
    marks = _marks(context, target) if context.breakpoints else None
    if context.has_summary and (left := target.begins_anew(items)) is not None:
        earlier = [turns] if before is None or turns.is_anew else [before, turns]
        is_first = left == items and all(all(more.extents.is_user) for more in earlier)
        kept = [item for more in earlier for item in more.messages()] if target.keeps_messages(turn, is_first) else []
        if left != items or len(kept) < sum(len(more.sizes) for more in earlier):
            context.report.append(Change(seq, None, "dropped", "what was before a compaction, which stands for it"))
        items, can_begin = left, True
        turns.begin_anew()
        if kept:
            turns.add(kept, seq, is_user=True, can_begin=True)
        if marks is not None:
            count = sum(marks.caching.count(item.get("content")) for item in items)
            marks = marks._replace(places=marks.places[len(marks.places) - count :])
    turns.add(items, seq, is_user=is_user, can_begin=can_begin and bool(items), marks=marks)


def _marks(context: RenderContext, target: Format) -> Marks | None:
    """Return the cache breakpoints of the turn that was just written, if it has any."""
    places, context.breakpoints = context.breakpoints, []
    return None if target.caching is None else Marks(target.caching, places)
