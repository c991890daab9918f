"""Repair: any messages become a history that a provider accepts (docs/provider-rules.md).

Theory of operation
-------------------

A conversation may contain anything: calls that were interrupted, results that came late or twice, blank texts, two
answers in a row, blocks of another provider. APIs refuse most of that with a 400. Repair is one pass over the
messages that knows no API; what an API accepts it asks a :class:`~reeld.formats.format.Format`.

*Exchanges.* Messages are grouped into exchanges: neighbouring messages of the user and of tools, then neighbouring
messages of the assistant. The results of a call belong to the user turn of the exchange after it.

*Settled and open.* An exchange is settled as soon as a message follows it. The last exchange is open: the next message
may belong to it. The invariant is that **a settled exchange never changes, whatever is added later** (rule X2). Two
things rest on it. Provider caches are valid only for an identical prefix, and Anthropic binds thinking to everything
before it (rule A8): a repair that changes its mind costs money or a 400. And rendering has to write each settled
exchange only once (:mod:`~reeld.formats.render_state`). Two consequences:

- When the user speaks while a call has no result, the call is *abandoned*: a synthesized result takes its place. If
  the real result comes later, its place is taken, so it is sent as a text of the user's where it arrived (rule X5).
- An exchange with a server's tool that still works stays open, and so do all after it, until the tool has answered or
  the user has spoken: only then is it known whether its call can be sent (rule X9).

*State.* All that a later exchange may depend on is in a :class:`~reeld.formats.repair_state.RepairState`: the ids in
use, the pending and the abandoned calls, the tool loop. :func:`repair` advances it over the settled exchanges,
repairs the open ones on a saved state, and restores that. So repairing in batches gives the same as repairing all at
once, which a property test holds it to.

Rejected: to repair in each format's writer, because most rules are the same for all APIs; and to repair in the log when
a message is added, because a repair for one API would damage the conversation for the others.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reel.strict_json import Json
from reeld.formats.content import as_error, media_title, texts_of
from reeld.formats.format import Format, LoopThinking, Position
from reeld.formats.model import (
    Action,
    AssistantTurn,
    CallResult,
    Change,
    HistorySettings,
    Piece,
    ToolCall,
    UserTurn,
    placeholder,
)
from reeld.formats.naming import why_signature_lost
from reeld.formats.repair_state import RepairState
from reeld.formats.server_tools import MessageGroup, ServerToolStatus, match_server_tools

PLACEHOLDER = "(empty)"
NO_RESULT = "No result: the call was interrupted before it was answered."
PLACEHOLDER_TURN = UserTurn([], [placeholder(PLACEHOLDER)])
_MEDIA = ("media", "opaque")
_THOUGHTS = ("thinking", "redacted_thinking")
_UNPAIRED = "a server's tool without the other half of its call and result"
_LOST_REASONING = "the server requires it together with its reasoning, which is not sent"
# Creates a named tuple in half the time that calling its class takes.
_new = tuple.__new__
# Each exchange has one of these: to look one up is faster than to make one.
_LOOPS = {(first, last): LoopThinking(first, last) for first in (False, True) for last in (False, True)}


class Exchange(NamedTuple):
    """One exchange, repaired.

    Args:
        user: the user turn.
        assistant: the assistant turn; empty if the assistant has not spoken yet.
        report: what was done to both.
        seq: the seq of its first message.
        continues_server_tool: whether the assistant continues while a server's tool of an earlier exchange works.
    """

    user: UserTurn
    assistant: AssistantTurn
    report: list[Change]
    seq: int
    continues_server_tool: bool


class Repaired(NamedTuple):
    """What repair returns.

    Args:
        settled: the exchanges that no later message changes.
        settled_messages: how many messages they are made of.
        open: the other exchanges.
        open_calls: the calls of the whole history that have no result.
        loop: the tool loop that the history ends in; ``None`` if it ends in none.
        ends_with_assistant: whether the assistant spoke last and waits for no result.
        asks: whether something is sent of the user's last message, or of the results that the history ends in.
    """

    settled: list[Exchange]
    settled_messages: int
    open: list[Exchange]
    open_calls: list[ToolCall]
    loop: LoopThinking | None
    ends_with_assistant: bool
    asks: bool


def repair(
    messages: Iterable[Json],
    state: RepairState,
    target: Format,
    model: str | None,
    settings: HistorySettings,
) -> Repaired:
    """Repair the messages after those that a state covers.

    Args:
        messages: messages as they go over the wire, in their order.
        state: what is known of the settled exchanges before them; afterwards it covers the newly settled ones too.
        target: the format.
        model: the model that will answer, if it is known.
        settings: what the rest of the body leaves to the history.
    """
    groups = groups_of(messages)
    pending = [call.given_id for call in state.pending]
    tools = match_server_tools(groups, target, model, state.waiting, pending)
    newest = max(len(groups) - 1, 0)
    first_open = newest if tools.first_pending is None else min(newest, tools.first_pending)
    rules = _Rules(target, model, tools, settings, set())
    settled = [_exchange(groups[number], number, state, rules) for number in range(first_open)]
    state.waiting = tuple(key for key in tools.waiting_at(first_open) if key not in rules.lost)
    saved = state.save()
    rest = [_exchange(groups[number], number, state, rules) for number in range(first_open, len(groups))]
    open_calls = state.open_calls()
    ends_with_assistant = bool(groups and groups[-1].assistant and not state.pending)
    if state.pending:
        rest.append(_exchange(MessageGroup(0, [], []), len(groups), state, rules))
    loop = None if ends_with_assistant else state.loop
    state.restore(saved)
    settled_messages = groups[first_open].start if groups else 0
    asks = bool(rest) and not ends_with_assistant and _asks(rest[-1].user, groups)
    return Repaired(settled, settled_messages, rest, open_calls, loop, ends_with_assistant, asks)


def _asks(turn: UserTurn, groups: Sequence[MessageGroup]) -> bool:
    """Whether something is sent of the last message of a history that ends with a user turn (rule X10).

    There are no groups if only results that an interruption left open come after what is settled.
    """
    group = groups[-1] if groups else None
    if group is None or group.assistant or group.user[-1]["role"] != "user":
        return bool(turn.results or turn.pieces)
    last = group.start + len(group.user) - 1
    return any(piece.message_index == last for piece in turn.pieces)


def groups_of(messages: Iterable[Json]) -> list[MessageGroup]:
    """Group messages; only the first group may lack the user's messages, and only the last one the assistant's."""
    groups: list[MessageGroup] = []
    for index, message in enumerate(messages):
        is_assistant = message["role"] == "assistant"
        if not groups or (groups[-1].assistant and not is_assistant):
            groups.append(MessageGroup(index, [], []))
        (groups[-1].assistant if is_assistant else groups[-1].user).append(message)
    return groups


class _Rules(NamedTuple):
    """What the API accepts; ``lost`` are the keys of the server's calls that were left out for another reason."""

    target: Format
    model: str | None
    tools: ServerToolStatus
    settings: HistorySettings
    lost: set[str]

    def lacks_tool(self, name: str) -> bool:
        """Return whether the model does not have a tool (rule X18)."""
        return self.settings.tools is not None and name not in self.settings.tools

    def why_unsendable(self, block: Json, position: Position) -> str | None:
        """Return why a block cannot be sent; blank texts nowhere can (rules X3 and A3)."""
        if block["type"] == "text":
            return None if block["text"].strip() else "a blank text"
        return self.target.why_unsendable(block, position, self.model)


def _exchange(group: MessageGroup, number: int, state: RepairState, rules: _Rules) -> Exchange:
    report: list[Change] = []
    user = _user_turn(group, state, rules, report)
    assistant = _assistant_turn(group, state, rules, report)
    if not user.results:
        state.loop = None
    if assistant.pieces:
        thinks = assistant.pieces[0].block["type"] in _THOUGHTS
        state.loop = _LOOPS[state.loop.first if state.loop else thinks, thinks]
    first = next(iter(group.user or group.assistant), None)
    seq = first["seq"] if first else user.results[0].call.seq
    return Exchange(user, assistant, report, seq, number in rules.tools.continuing)


def _user_turn(group: MessageGroup, state: RepairState, rules: _Rules, report: list[Change]) -> UserTurn:
    """Put the results first, in the order of their calls; synthesize what is missing (rules X4 and X11)."""
    calls, state.pending = state.pending, ()
    builder = _UserTurnBuilder(calls, state, rules, report)
    for message_index, message in enumerate(group.user, group.start):
        for block_index, block in enumerate(message["content"]):
            piece = _new(Piece, (message, message_index, block_index, block))
            if block["type"] == "tool_result":
                builder.add_result(piece)
            else:
                builder.add(piece)
    for number, call in enumerate(calls):
        if number not in builder.results:
            state.abandon(call)
            builder.results[number] = CallResult(call, NO_RESULT, failed=True, piece=None)
            report.append(Change(call.seq, None, "synthesized", f"the call {call.given_id} has no result"))
    pieces = [*builder.moved, *builder.pieces]
    if not pieces and not calls and rules.target.alternates and group.assistant:
        pieces = [placeholder(PLACEHOLDER)]
        seq = group.user[0]["seq"] if group.user else None
        report.append(Change(seq, None, "synthesized", "this API requires a user message here"))
    return UserTurn([builder.results[number] for number in range(len(calls))], pieces)


class _UserTurnBuilder:
    """Collects the pieces of one user turn."""

    def __init__(self, calls: tuple[ToolCall, ...], state: RepairState, rules: _Rules, report: list[Change]) -> None:
        self.calls = calls
        self.state = state
        self.rules = rules
        self.report = report
        # By the number of their call.
        self.results: dict[int, CallResult] = {}
        self.pieces: list[Piece] = []
        # Media of results, each after a title, that the API takes from the user only.
        self.moved: list[Piece] = []

    def _note(self, piece: Piece, action: Action, why: str) -> None:
        self.report.append(Change(piece.seq, piece.block_index, action, why))

    def add(self, piece: Piece) -> None:
        """Add what the user says, unless it cannot be sent."""
        why = self.rules.why_unsendable(piece.block, "user")
        if why is not None:
            self._note(piece, "dropped", why)
            return
        follows = self.pieces and self.pieces[-1].message_index != piece.message_index
        if follows and self.rules.target.alternates:
            self.report.append(Change(piece.seq, None, "merged", "the message before it is the user's too"))
        self.pieces.append(piece)

    def add_result(self, piece: Piece) -> None:
        """Add a result: of a call of the turn before, of one that was abandoned, or of none."""
        given_id = piece.block["tool_call_id"]
        matching = [number for number, call in enumerate(self.calls) if call.given_id == given_id]
        number = next((number for number in matching if number not in self.results), None)
        if number is not None:
            if self.pieces and self.rules.target.results_first:
                self._note(piece, "moved", "a result must directly follow its call")
            self.results[number] = self._result(self.calls[number], piece)
        elif (told := self.state.pop_told(given_id)) is not None:
            self._note(piece, "downgraded", f"the tool {told.name} is not in tools: its result is sent as text")
            self._add_as_text(f"Result of {told.name} ({given_id})", piece)
        elif (abandoned := self.state.pop_abandoned(given_id)) is not None:
            why = "this result came after its call was abandoned; it is sent as text"
            self._note(piece, "downgraded", why)
            self._add_as_text(f"Late result of {abandoned.given_name} ({given_id})", piece)
        else:
            self._note(piece, "dropped", "a second result" if matching else "a result of no open call")

    def _add_as_text(self, title: str, piece: Piece) -> None:
        """Add what a result says as a text, then whatever else of it the user may send (rules X5 and X18)."""
        content = piece.block["content"]
        blocks = [] if isinstance(content, str) else content
        words = texts_of(blocks) if blocks else content
        said = as_error(words) if piece.block.get("is_error") else words
        self.pieces.append(piece._replace(block={"type": "text", "text": f"{title}: {said}"}))
        for block in blocks:
            if block["type"] != "text":
                self.add(piece._replace(block=block))

    def _result(self, call: ToolCall, piece: Piece) -> CallResult:
        block = piece.block
        failed, content = bool(block.get("is_error")), block["content"]
        if isinstance(content, list):
            content = self._sendable(call, piece, content, "failed_result" if failed else "result") or ""
        return CallResult(call, content, failed, piece)

    def _sendable(self, call: ToolCall, piece: Piece, blocks: list[Json], position: Position) -> list[Json]:
        """Return the blocks that a result may contain; media that only the user may send follow (rule X17)."""
        sendable, moved = [], []
        for block in blocks:
            why = self.rules.why_unsendable(block, position)
            if why is None:
                sendable.append(block)
            elif block["type"] in _MEDIA and self.rules.why_unsendable(block, "user") is None:
                self._note(piece, "moved", f"{why}: it follows as the user's, after all results")
                moved.append(piece._replace(block=block))
            else:
                self._note(piece, "dropped", f"in the result: {why}")
        if moved:
            self.moved += [piece._replace(block={"type": "text", "text": media_title(call.name, call.id)}), *moved]
        return sendable


def _assistant_turn(group: MessageGroup, state: RepairState, rules: _Rules, report: list[Change]) -> AssistantTurn:
    """Leave out what cannot be sent, and put the calls last if the API requires that."""
    pieces: list[Piece] = []
    calls_at_end: list[Piece] = []
    calls: list[ToolCall] = []
    speaker: int | None = None
    # What was made since reasoning that is a message of its own: an item of a message may be tied to it.
    begun: list[Json] = []
    for message_index, message in enumerate(group.assistant, group.start + len(group.user)):
        for block_index, block in enumerate(message["content"]):
            piece = _new(Piece, (message, message_index, block_index, block))
            is_call = block["type"] == "tool_call"
            if is_call and rules.lacks_tool(block["name"]):
                piece, is_call = _told(piece, pieces, state, rules, report), False
            if is_call:
                made = _as_plain_call(piece, begun, state, rules, report)
                calls.append(state.add_call(made, rules.target.sent_id))
                state.used_ids.update(dict.fromkeys(rules.target.call_item_ids(made.block)))
                _note_lost_signature(made, rules, report)
                (calls_at_end if rules.target.calls_last else pieces).append(_sent_call(calls[-1], made, report))
            elif (why := _why_left_out(piece, begun, state, rules)) is not None:
                report.append(Change(piece.seq, block_index, "dropped", why))
            else:
                if calls_at_end:
                    report.append(Change(piece.seq, block_index, "moved", "only calls may follow a call in a turn"))
                if piece.block["type"] == "text" and speaker != message_index:
                    if speaker is not None and rules.target.alternates:
                        report.append(Change(piece.seq, None, "merged", "the message before it is the assistant's too"))
                    speaker = message_index
                _note_lost_signature(piece, rules, report)
                pieces.append(piece)
        if begun or rules.target.belongs_to_next(message):
            begun += message["content"]
    pieces += calls_at_end
    while pieces and rules.target.must_precede_content(pieces[-1].block):
        last = pieces.pop()
        report.append(Change(last.seq, last.block_index, "dropped", "reasoning without the content that it led to"))
    if group.assistant and not pieces and rules.target.alternates:
        pieces.append(placeholder(PLACEHOLDER))
        report.append(Change(group.assistant[0]["seq"], None, "synthesized", "nothing else is left of this answer"))
    state.pending = tuple(calls)
    return AssistantTurn(pieces)


def _told(piece: Piece, pieces: list[Piece], state: RepairState, rules: _Rules, report: list[Change]) -> Piece:
    """Return a call of a tool that the model does not have as text, without the reasoning that led to it (rule X18)."""
    while pieces and rules.target.must_precede_content(pieces[-1].block):
        lost = pieces.pop()
        report.append(Change(lost.seq, lost.block_index, "dropped", "reasoning of a call that is sent as text"))
    call = state.tell(piece)
    report.append(
        Change(piece.seq, piece.block_index, "downgraded", f"the tool {call.name} is not in tools: it is sent as text")
    )
    text = f"Call of {call.name} ({call.given_id}): {piece.block['arguments']}"
    return piece._replace(block={"type": "text", "text": text})


def _why_left_out(piece: Piece, begun: list[Json], state: RepairState, rules: _Rules) -> str | None:
    """Return why a block of the assistant's cannot be sent; ``begun`` are the blocks before its message."""
    kind = piece.block["type"]
    if kind == "opaque" and (piece.message_index, piece.block_index) in rules.tools.unpaired:
        return _UNPAIRED
    why = rules.why_unsendable(piece.block, "assistant")
    if why is not None or kind != "opaque":
        return why
    half = rules.target.server_tool_half(piece.block)
    if half is not None and not half.is_call:
        return _UNPAIRED if half.key in rules.lost else None
    why = _LOST_REASONING if _has_lost_reasoning(piece, begun, rules) else _why_not_again(piece, state, rules)
    if half is not None:
        (rules.lost.discard if why is None else rules.lost.add)(half.key)
    return why


def _why_not_again(piece: Piece, state: RepairState, rules: _Rules) -> str | None:
    """Return why a block cannot be sent if its id was sent before (rule R3); else note its ids."""
    ids = rules.target.unique_ids(piece.block)
    again = next((found for found in ids if found in state.used_ids), None)
    if again is not None:
        return f"the history already has an item {again}"
    state.used_ids.update(dict.fromkeys(ids))
    return None


def _note_lost_signature(piece: Piece, rules: _Rules, report: list[Change]) -> None:
    """Report that the signature of a block is left out, or replaced (rules X7 and G3)."""
    if "provider_metadata" not in piece.block or rules.target.any_signature:
        return
    if (why := why_signature_lost(piece.block, rules.target.provider, rules.model)) is not None:
        report.append(Change(piece.seq, piece.block_index, "dropped", why))


def _has_lost_reasoning(piece: Piece, begun: list[Json], rules: _Rules) -> bool:
    """Whether a block is tied to reasoning of its message, or before it, that cannot be sent (rule R10)."""
    if not rules.settings.by_id or not rules.target.requires_reasoning(piece.block):
        return False
    before = reversed([*begun, *piece.message["content"][: piece.block_index]])
    reasoning = next(filter(rules.target.must_precede_content, before), None)
    return reasoning is not None and rules.why_unsendable(reasoning, "assistant") is not None


def _as_plain_call(piece: Piece, begun: list[Json], state: RepairState, rules: _Rules, report: list[Change]) -> Piece:
    """Return a call without its own form if that cannot be sent.

    It is tied to reasoning that cannot be sent (rule R10), or the history has an item with its id (rule R3).
    """
    again = next((found for found in rules.target.call_item_ids(piece.block) if found in state.used_ids), None)
    if _has_lost_reasoning(piece, begun, rules):
        reason = _LOST_REASONING
    elif again is not None:
        reason = f"the history already has an item {again}"
    else:
        return piece
    report.append(Change(piece.seq, piece.block_index, "downgraded", f"it is sent as a function call: {reason}"))
    return piece._replace(block={**piece.block, "provider_metadata": {}})


def _sent_call(call: ToolCall, piece: Piece, report: list[Change]) -> Piece:
    """Return the piece of a call with the id and the name under which it is sent."""
    if call.id == call.given_id and call.name == call.given_name:
        return piece
    if call.id != call.given_id:
        why = f"the id {call.given_id} is sent as {call.id}"
        report.append(Change(piece.seq, piece.block_index, "renamed", why))
    if call.name != call.given_name:
        why = f"the tool {call.given_name} is sent as {call.name}"
        report.append(Change(piece.seq, piece.block_index, "renamed", why))
    return piece._replace(block={**piece.block, "id": call.id, "name": call.name})
