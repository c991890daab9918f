"""Repair: any messages become a history that a provider accepts (docs/provider-rules.md).

Theory of operation
-------------------

A conversation may contain anything: calls that were interrupted, results that came late or twice, blank texts, two
consecutive answers, blocks of another provider. APIs refuse most of that with a 400. Repair is one pass over the
messages that is independent of the API; it asks a :class:`~reeld.formats.format.Format` what the API accepts.

*Exchanges.* Messages are grouped into exchanges: neighbouring messages of the user and of tools, then neighbouring
messages of the assistant. The results of a call belong to the user turn of the exchange after it.

*Settled and open.* An exchange is settled as soon as a message follows it. The last exchange is open: the next message
may belong to it. The invariant is that **a settled exchange never changes, whatever is added later** (rule X2). Two
things rest on it. Provider caches are valid only for an identical prefix, and Anthropic binds thinking to everything
before it (rule A8): a repair that changes its mind costs money or a 400. And rendering has to write each settled
exchange only once (:mod:`~reeld.formats.render_state`). Two consequences:

- When the user speaks while a call has no result, the call is *abandoned*: a synthesized result takes its place. If the
  real result comes later, its place is taken, so it is sent as a user text where it arrived (rule X5).
- An exchange with a server tool that is still running stays open, and so do all after it, until the tool has answered
  or the user has spoken: only then is it known whether the call can be sent (rule X9).

*State.* Everything that a later exchange may depend on is in a :class:`~reeld.formats.repair_state.RepairState`: the
ids in use, the pending and the abandoned calls, the tool loop. :func:`repair` advances it over the settled exchanges,
repairs the open ones on a saved state, and restores that. So repairing in batches gives the same result as repairing
everything at once; a property test checks that.

Rejected: repairing in each format's writer, because most rules are the same for all APIs; and repairing the log when a
message is added, because a repair for one API would damage the conversation for the others.
"""

from collections.abc import Iterable, Sequence

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.base.values import new_tuple
from reel.providers.changes import Change
from reel.providers.roles import changes_settings
from reeld.formats.format import Format, LoopThinking
from reeld.formats.model import AssistantTurn, HistorySettings, ToolCall, UserTurn, is_thought
from reeld.formats.repair_assistant import repair_assistant_turn
from reeld.formats.repair_rules import Rules
from reeld.formats.repair_state import RepairState
from reeld.formats.repair_user import repair_user_turn
from reeld.formats.server_tools import MessageGroup, match_server_tools

# The reason why an answer of Anthropic's ended that has compacted the conversation, and goes on when asked again.
COMPACTED = "compaction"
# Each exchange has one of these; looking one up is faster than creating it.
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
    """The result of a repair.

    Args:
        settled: the exchanges that no later message changes.
        settled_messages: the number of their messages.
        settled_by: the number of the message that settled them: without it and what follows, the last would be open.
        open: the other exchanges.
        open_calls: the calls of the whole history that have no result.
        loop: the tool loop that the history ends in; ``None`` if it ends in none.
        ends_with_assistant: whether the assistant spoke last and waits for no result.
        asks: whether any part is sent of the user's last message, or of the results at the end of the history.
    """

    settled: list[Exchange]
    settled_messages: int
    settled_by: int
    open: list[Exchange]
    open_calls: list[ToolCall]
    loop: LoopThinking | None
    ends_with_assistant: bool
    asks: bool


def repair(
    messages: Sequence[Json],
    state: RepairState,
    target: Format,
    model: str | None,
    settings: HistorySettings,
) -> Repaired:
    """Repair the messages after those that a state covers.

    Args:
        messages: messages in the form sent to clients, in order.
        state: the state after the settled exchanges before them; afterwards it covers the newly settled ones too.
        target: the format.
        model: the model that will answer, if it is known.
        settings: the settings that the rest of the body imposes.
    """
    groups = groups_of(messages)
    pending = [call.given_id for call in state.pending]
    tools = match_server_tools(groups, target, model, state.waiting, pending, settings)
    newest = max(len(groups) - 1, 0)
    first_open = newest if tools.first_pending is None else min(newest, tools.first_pending)
    rules = Rules(target, model, tools, settings, set())
    settled = [_exchange(groups[number], number, state, rules) for number in range(first_open)]
    state.waiting = tuple(key for key in tools.waiting_at(first_open) if key not in rules.lost)
    saved = state.save()
    rest = [_exchange(groups[number], number, state, rules) for number in range(first_open, len(groups))]
    open_calls = state.open_calls()
    ends_with_assistant = bool(groups and groups[-1].assistant and not state.pending)
    if ends_with_assistant and _has_only_compacted(groups[-1], rest[-1]):
        ends_with_assistant, rest[-1] = False, _without_answer(rest[-1])
    if state.pending:
        rest.append(_exchange(MessageGroup(0, [], []), len(groups), state, rules))
    loop = None if ends_with_assistant else state.loop
    state.restore(saved)
    settled_messages = groups[first_open].start if groups else 0
    # What becomes of a server's tool may be decided by any later message.
    settled_by = len(messages) - 1 if tools.present else settled_messages
    asks = bool(rest) and not ends_with_assistant and _asks(rest[-1].user, groups)
    return Repaired(settled, settled_messages, settled_by, rest, open_calls, loop, ends_with_assistant, asks)


def _exchange(group: MessageGroup, number: int, state: RepairState, rules: Rules) -> Exchange:
    report: list[Change] = []
    user = repair_user_turn(group, state, rules, report)
    assistant = repair_assistant_turn(group, state, rules, report)
    results, _, _ = user
    pieces, text = assistant
    if not results:
        state.loop = None
    if pieces:
        thinks = text is None and is_thought(pieces[0].block)
        state.loop = _LOOPS[state.loop.first if state.loop else thinks, thinks]
    said = group.user or group.assistant
    seq = said[0]["seq"] if said else results[0].call.seq
    continues = bool(rules.tools.continuing) and rules.continues_server_tool(number)
    return new_tuple(Exchange, (user, assistant, report, seq, continues))


def _has_only_compacted(group: MessageGroup, exchange: Exchange) -> bool:
    """Whether nothing is sent of an answer that paused after it had compacted: the user still waits (rule A18)."""
    ended = (group.assistant[-1].get("provider_metadata") or {}).get("finish_reason")
    return ended == COMPACTED and all(piece.message_index < 0 for piece in exchange.assistant.pieces)


def _without_answer(exchange: Exchange) -> Exchange:
    """Return an exchange without the placeholder of its answer, and the last line of its report, which says so."""
    if not exchange.assistant.pieces:
        return exchange
    return exchange._replace(assistant=AssistantTurn([]), report=exchange.report[:-1])


def _asks(turn: UserTurn, groups: Sequence[MessageGroup]) -> bool:
    """Whether any part is sent of the last message of a history that ends with a user turn (rule X10).

    An instruction that this API cannot be sent is nobody's turn: the one who spoke before it still waits.
    There are no groups if only results left open by an interruption follow the settled exchanges.
    """
    group = groups[-1] if groups else None
    if group is None or group.assistant:
        return bool(turn.results or turn.pieces)
    sent = {piece.message_index for piece in turn.pieces}
    for index, message in reversed([*enumerate(group.user, group.start)]):
        if message["role"] != "user":
            return bool(turn.results or turn.pieces)
        if index in sent or not changes_settings(message):
            return index in sent
    return bool(turn.results)


def groups_of(messages: Iterable[Json]) -> list[MessageGroup]:
    """Group messages; only the first group may lack the user's messages, and only the last one the assistant's."""
    groups: list[MessageGroup] = []
    user: list[Json] = []
    assistant: list[Json] = []
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            if not groups:
                groups.append(new_tuple(MessageGroup, (index, user, assistant)))
            assistant.append(message)
        else:
            if assistant or not groups:
                user, assistant = [], []
                groups.append(new_tuple(MessageGroup, (index, user, assistant)))
            user.append(message)
    return groups
