"""Repair of an assistant turn: selects the blocks that can be sent, and their form and order."""

from reel.base.strict_json import Json
from reel.base.values import new_tuple
from reel.providers.anthropic import is_connector_text
from reel.providers.changes import Change
from reel.providers.roles import THOUGHTS
from reeld.formats.format import Format
from reeld.formats.model import AssistantTurn, Piece, ToolCall, only_text, placeholder
from reeld.formats.naming import why_signature_lost
from reeld.formats.repair_rules import Rules
from reeld.formats.repair_state import RepairState
from reeld.formats.server_tools import MessageGroup
from reeld.formats.turn_order import MOVED, OrderedPieces, pop_thoughts

_UNPAIRED = "a server's tool without the other half of its call and result"
_TAKEN_OVER = "the model that thought so declined, and another one answered in its place"
_TAKEN_OVER_FROM = "no call may come before the place where another model took over"
_LOST_REASONING = "the server requires it together with its reasoning, which is not sent"


def repair_assistant_turn(group: MessageGroup, state: RepairState, rules: Rules, report: list[Change]) -> AssistantTurn:
    """Leave out blocks that cannot be sent, and put the rest in an order that the API accepts."""
    # Words alone are sent as they are: nothing leads to them, and nothing follows.
    if (words := only_text(group.assistant, group.start + len(group.user))) is not None:
        state.pending = ()
        return new_tuple(AssistantTurn, words)
    return AssistantTurn(_ended(_repaired(group, state, rules, report), group, rules.target, report))


def _repaired(group: MessageGroup, state: RepairState, rules: Rules, report: list[Change]) -> list[Piece]:
    target, tools = rules.target, rules.settings.tools
    said: list[Piece] = []
    made: list[Piece] = []
    calls: list[ToolCall] = []
    # From the first piece behind a call on, what is said may be out of order.
    turn: OrderedPieces | None = None
    speaker: int | None = None
    # The newest reasoning since a message of reasoning alone: an item of a later message may be tied to it.
    led_by: Json | None = None
    for message_index, message in enumerate(group.assistant, group.start + len(group.user)):
        for block_index, block in enumerate(message["content"]):
            piece = new_tuple(Piece, (message, message_index, block_index, block))
            is_call = block["type"] == "tool_call"
            if is_call and tools is not None and block["name"] not in tools:  # rule X18
                leads = target.must_precede_content
                led = turn.pop_thoughts(leads) if turn is not None else [] if made else pop_thoughts(said, leads)
                piece, is_call = _told(piece, led, state, report), False
            if is_call:
                call, piece = _made(piece, led_by, state, rules, report)
                calls.append(call)
                (made.append if turn is None else turn.add_call)(piece)
            elif (why := _why_left_out(piece, led_by, state, rules)) is not None:
                report.append(Change(piece.seq, block_index, "dropped", why))
            else:
                if piece.block["type"] == "text" and speaker != message_index:
                    if speaker is not None and target.alternates:
                        report.append(Change(piece.seq, None, "merged", "the message before it is the assistant's too"))
                    speaker = message_index
                if "provider_metadata" in piece.block:
                    _note_lost_signature(piece, rules, report)
                if made:
                    turn = turn or OrderedPieces(target.after_calls, said, made)
                    _add_said(piece, turn, rules, report)
                else:
                    said.append(piece)
        if led_by is not None or target.belongs_to_next(message):
            led_by = next(filter(target.must_precede_content, reversed(message["content"])), led_by)
    state.pending = tuple(calls)
    return [*said, *made] if turn is None else turn.pieces


def _ended(pieces: list[Piece], group: MessageGroup, target: Format, report: list[Change]) -> list[Piece]:
    """Return the pieces of a turn that does not end in reasoning, and is not empty if the API requires that."""
    while pieces and target.must_precede_content(pieces[-1].block):
        last = pieces.pop()
        report.append(Change(last.seq, last.block_index, "dropped", "reasoning without the content that it led to"))
    if group.assistant and not pieces and target.alternates:
        pieces.append(placeholder())
        report.append(Change(group.assistant[0]["seq"], None, "synthesized", "nothing else is left of this answer"))
    return pieces


def _made(
    piece: Piece, led_by: Json | None, state: RepairState, rules: Rules, report: list[Change]
) -> tuple[ToolCall, Piece]:
    """Return a call, and its piece as it is sent."""
    if "provider_metadata" not in piece.block:  # it has no other form and no signature
        call = state.add_call(piece, rules.target.sent_id)
        return call, _sent_call(call, piece, report)
    made = _as_plain_call(piece, led_by, state, rules, report)
    call = state.add_call(made, rules.target.sent_id)
    state.used_ids.update(dict.fromkeys(rules.target.call_item_ids(made.block)))
    _note_lost_signature(made, rules, report)
    return call, _sent_call(call, made, report)


def _add_said(piece: Piece, turn: OrderedPieces, rules: Rules, report: list[Change]) -> None:
    """Add anything but a call behind one."""
    target = rules.target
    if rules.tools.declined.get(piece.message_index) == piece.block_index:
        calls = turn.take_over(piece)
        report.extend(Change(call.seq, call.block_index, "moved", _TAKEN_OVER_FROM) for call in calls)
        return
    is_thought = target.must_precede_content(piece.block) or is_connector_text(piece.block)
    is_served = target.is_server_tool(piece.block)
    if turn.add(piece, is_thought=is_thought, is_server_tool=is_served):
        report.append(Change(piece.seq, piece.block_index, "moved", MOVED))


def _told(piece: Piece, led: list[Piece], state: RepairState, report: list[Change]) -> Piece:
    """Return a call of a tool that the model does not have as text, without the reasoning that led to it (rule X18)."""
    why = "reasoning of a call that is sent as text"
    report.extend(Change(lost.seq, lost.block_index, "dropped", why) for lost in reversed(led))
    call = state.tell(piece)
    report.append(
        Change(piece.seq, piece.block_index, "downgraded", f"the tool {call.name} is not in tools: it is sent as text")
    )
    text = f"Call of {call.name} ({call.given_id}): {piece.block['arguments']}"
    return piece._replace(block={"type": "text", "text": text})


def _why_left_out(piece: Piece, led_by: Json | None, state: RepairState, rules: Rules) -> str | None:
    """Return why a block of the assistant's cannot be sent; ``led_by`` is reasoning before its message."""
    kind = piece.block["type"]
    if kind == "text":  # nearly always
        return rules.why_unsendable(piece.block, "assistant")
    is_declined = piece.block_index < rules.tools.declined.get(piece.message_index, 0)
    if is_declined and (kind in THOUGHTS or is_connector_text(piece.block)):
        return _TAKEN_OVER
    if kind == "opaque" and (piece.message_index, piece.block_index) in rules.tools.unpaired:
        return _UNPAIRED
    why = rules.why_unsendable(piece.block, "assistant")
    if why is not None or kind != "opaque":
        return why
    half = rules.target.server_tool_half(piece.block)
    if half is not None and not half.is_call:
        return _UNPAIRED if half.key in rules.lost else None
    why = _LOST_REASONING if _has_lost_reasoning(piece, led_by, rules) else _why_not_again(piece, state, rules)
    if half is not None:
        (rules.lost.discard if why is None else rules.lost.add)(half.key)
    return why


def _why_not_again(piece: Piece, state: RepairState, rules: Rules) -> str | None:
    """Return why a block cannot be sent if its id was sent before (rule R3); otherwise record its ids."""
    ids = rules.target.unique_ids(piece.block)
    again = next((found for found in ids if found in state.used_ids), None)
    if again is not None:
        return f"the history already has an item {again}"
    state.used_ids.update(dict.fromkeys(ids))
    return None


def _note_lost_signature(piece: Piece, rules: Rules, report: list[Change]) -> None:
    """Report that the signature of a block is left out, or replaced (rules X7 and G3)."""
    target = rules.target
    if target.any_signature:
        return
    if (why := why_signature_lost(piece.block, target.provider, rules.model, target.signed_in)) is not None:
        report.append(Change(piece.seq, piece.block_index, "dropped", why))


def _has_lost_reasoning(piece: Piece, led_by: Json | None, rules: Rules) -> bool:
    """Whether a block is tied to reasoning of its message, or before it, that cannot be sent (rule R10)."""
    if not rules.settings.by_id or not rules.target.requires_reasoning(piece.block):
        return False
    before = reversed(piece.message["content"][: piece.block_index])
    reasoning = next(filter(rules.target.must_precede_content, before), led_by)
    return reasoning is not None and rules.why_unsendable(reasoning, "assistant") is not None


def _as_plain_call(piece: Piece, led_by: Json | None, state: RepairState, rules: Rules, report: list[Change]) -> Piece:
    """Return a call without its own form if that cannot be sent.

    It is tied to reasoning that cannot be sent (rule R10), or the history has an item with its id (rule R3).
    """
    again = next((found for found in rules.target.call_item_ids(piece.block) if found in state.used_ids), None)
    if _has_lost_reasoning(piece, led_by, rules):
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
