"""Repair: messages become rounds of turns that a provider takes (``formats.md`` 6.2 to 6.5 and 6.12).

A round is what the user and the tools say, then what the assistant answers. It is *settled* as soon as something is
said after it: from then on nothing that is added later changes it. That is what makes rendering append-only, and so a
result that comes late is no result any more, but something that is said where it arrives. One exception: a server's
tool that is at work holds its round and all after it open, until it has answered or the user has spoken.
"""

from collections.abc import Iterable
from typing import NamedTuple

from reeld.formats.content import as_error, texts_of
from reeld.formats.format import Dialect, Holder
from reeld.formats.groups import Group, groups_of, served
from reeld.formats.model import Answer, AssistantTurn, Call, Json, Piece, UserTurn, text_piece
from reeld.formats.repair_state import Memory
from reeld.formats.report import Action, Change

PLACEHOLDER = "(empty)"
MADE_UP = "No result: the call was interrupted before it was answered."
PLACEHOLDER_TURN = UserTurn([], [text_piece(PLACEHOLDER)])
_THOUGHTS = ("thinking", "redacted_thinking")


class Round(NamedTuple):
    """One round, repaired.

    Args:
        user: what comes before the assistant speaks.
        assistant: what it says then; nothing where it has not spoken yet.
        report: what was done to both.
        seq: the seq of its first message.
        goes_on: whether the assistant goes on with what a server's tool began in an earlier round.
    """

    user: UserTurn
    assistant: AssistantTurn
    report: list[Change]
    seq: int
    goes_on: bool


class Repaired(NamedTuple):
    """What repair gives.

    Args:
        settled: the rounds that nothing changes any more.
        messages: how many messages they are made of.
        open: the rest: the open last turn, which a later message may change.
        open_calls: the calls of the whole history that have no result.
        loop: whether the first and the last step of the tool loop that the history ends in begin with thinking;
            ``None``: it ends in none.
        spoken: whether the assistant said the last of it and waits for no result.
    """

    settled: list[Round]
    messages: int
    open: list[Round]
    open_calls: list[Call]
    loop: tuple[bool, bool] | None
    spoken: bool


def repair(messages: Iterable[Json], memory: Memory, dialect: Dialect, model: str | None) -> Repaired:
    """Repair the messages that come after those that a memory knows.

    Args:
        messages: messages as the wire has them, in their order.
        memory: what is known of the settled rounds before them; afterwards it knows the newly settled ones too.
        dialect: what the provider takes.
        model: which model it is for, where that is known.
    """
    groups = groups_of(messages)
    tools = served(groups, dialect, model)
    newest = max(len(groups) - 1, 0)
    held = newest if tools.waiting is None else min(newest, tools.waiting)
    rules = _Rules(dialect, model, tools.lost, tools.across)
    settled = [_round(group, memory, rules) for group in groups[:held]]
    saved = memory.save()
    last = [_round(group, memory, rules) for group in groups[held:]]
    open_calls = memory.open_calls()
    spoken = bool(groups and groups[-1].spoken and not memory.pending)
    if memory.pending:
        last.append(_round(Group([], []), memory, rules))
    loop = None if spoken else memory.loop
    memory.restore(saved)
    return Repaired(settled, sum(map(_size, groups[:held])), last, open_calls, loop, spoken)


def _size(group: Group) -> int:
    return len(group.heard) + len(group.spoken)


class _Rules(NamedTuple):
    """What a provider takes."""

    dialect: Dialect
    model: str | None
    lost: frozenset[int]
    across: frozenset[int]

    def objection(self, block: Json, holder: Holder) -> str | None:
        """Say why a block cannot be sent."""
        if block["type"] == "text":
            return None if block["text"].strip() else "a blank text"
        if id(block) in self.lost:
            return "a server's tool without the other half of its call and result"
        return self.dialect.refuses(block, holder, self.model)


def _round(group: Group, memory: Memory, rules: _Rules) -> Round:
    report: list[Change] = []
    user = _heard(group.heard, memory, rules, report)
    assistant = _spoken(group.spoken, memory, rules, report)
    if not user.answers:
        memory.loop = None
    if assistant.pieces:
        begins = assistant.pieces[0].block["type"] in _THOUGHTS
        memory.loop = (memory.loop[0] if memory.loop else begins, begins)
    first = next(iter(group.heard or group.spoken), None)
    seq = first["seq"] if first else user.answers[0].call.seq
    return Round(user, assistant, report, seq, id(group.spoken) in rules.across)


def _heard(messages: list[Json], memory: Memory, rules: _Rules, report: list[Change]) -> UserTurn:
    """Put the results first, in the order of their calls, and make up those that are missing."""
    calls, memory.pending = memory.pending, ()
    hearing = _Hearing(calls, memory, rules, report)
    for message in messages:
        for index, block in enumerate(message["content"]):
            piece = Piece(message, index, block)
            if block["type"] == "tool_result":
                hearing.result(piece)
            else:
                hearing.say(piece)
    for number, call in enumerate(calls):
        if number not in hearing.answers:
            memory.leave(call)
            hearing.answers[number] = Answer(call, MADE_UP, failed=True, piece=None)
            report.append(Change(call.seq, None, "synthesized", f"the call {call.given} has no result"))
    said = hearing.said
    if not said and not calls and rules.dialect.alternates:
        said = [text_piece(PLACEHOLDER)]
        report.append(Change(messages[0]["seq"] if messages else None, None, "synthesized", "the user must speak here"))
    return UserTurn([hearing.answers[number] for number in range(len(calls))], said)


class _Hearing:
    """What has been heard so far of one turn."""

    def __init__(self, calls: tuple[Call, ...], memory: Memory, rules: _Rules, report: list[Change]) -> None:
        self.calls = calls
        self.memory = memory
        self.rules = rules
        self.report = report
        self.answers: dict[int, Answer] = {}
        self.said: list[Piece] = []

    def note(self, piece: Piece, action: Action, why: str) -> None:
        self.report.append(Change(piece.seq, piece.index, action, why))

    def say(self, piece: Piece) -> None:
        """Take what the user said, unless it cannot be sent."""
        why = self.rules.objection(piece.block, "user")
        if why is not None:
            self.note(piece, "dropped", why)
            return
        if self.said and self.said[-1].message is not piece.message and self.rules.dialect.alternates:
            self.report.append(Change(piece.seq, None, "merged", "the user spoke before it, without an answer"))
        self.said.append(piece)

    def result(self, piece: Piece) -> None:
        """Take a result: of a call of the turn before, of one that was given up, or of none."""
        given = piece.block["tool_call_id"]
        fitting = [number for number, call in enumerate(self.calls) if call.given == given]
        number = next((number for number in fitting if number not in self.answers), None)
        if number is not None:
            if self.said and self.rules.dialect.results_first:
                self.note(piece, "moved", "a result stands directly after its call")
            self.answers[number] = self._answer(self.calls[number], piece)
        elif (late := self.memory.take_late(given)) is not None:
            self._late(late, piece)
        else:
            self.note(piece, "dropped", "a second result" if fitting else "a result of no call that is open")

    def _late(self, call: Call, piece: Piece) -> None:
        """Say what a call gave that is over: a text, then whatever else the user can show of it."""
        self.note(piece, "downgraded", "a result that came when its call had been given up")
        content = piece.block["content"]
        blocks = [] if isinstance(content, str) else content
        words = texts_of(blocks) if blocks else content
        said = as_error(words) if piece.block.get("is_error") else words
        told = f"Late result of {call.given_name} ({call.given}): {said}"
        self.said.append(text_piece(told, piece.message, piece.index))
        for block in blocks:
            if block["type"] != "text":
                self.say(Piece(piece.message, piece.index, block))

    def _answer(self, call: Call, piece: Piece) -> Answer:
        block = piece.block
        failed, content = bool(block.get("is_error")), block["content"]
        if isinstance(content, list):
            content = self._sendable(piece, content, "failed" if failed else "result") or ""
        return Answer(call, content, failed, piece)

    def _sendable(self, piece: Piece, blocks: list[Json], holder: Holder) -> list[Json]:
        kept = []
        for block in blocks:
            why = self.rules.objection(block, holder)
            if why is None:
                kept.append(block)
            else:
                self.note(piece, "dropped", f"in the result: {why}")
        return kept


def _spoken(messages: list[Json], memory: Memory, rules: _Rules, report: list[Change]) -> AssistantTurn:
    """Put what the assistant said in order: whatever cannot be sent is left out, the calls come last."""
    pieces: list[Piece] = []
    calls: list[Piece] = []
    made: list[Call] = []
    speaker: Json | None = None
    for message in messages:
        for index, block in enumerate(message["content"]):
            piece = Piece(message, index, block)
            if block["type"] == "tool_call":
                made.append(memory.call(piece))
                sent = Piece(message, index, _sent(block, made[-1], piece, report))
                (calls if rules.dialect.calls_last else pieces).append(sent)
            elif (why := rules.objection(block, "assistant") or _again(block, memory, rules.dialect)) is not None:
                report.append(Change(piece.seq, index, "dropped", why))
            else:
                if calls:
                    report.append(Change(piece.seq, index, "moved", "nothing stands after a call in its turn"))
                if block["type"] == "text" and speaker is not message:
                    if speaker is not None and rules.dialect.alternates:
                        report.append(Change(piece.seq, None, "merged", "the assistant spoke before it"))
                    speaker = message
                pieces.append(piece)
    pieces += calls
    while pieces and rules.dialect.leads(pieces[-1].block):
        led = pieces.pop()
        report.append(Change(led.seq, led.index, "dropped", "reasoning without what it led to"))
    if messages and not pieces and rules.dialect.alternates:
        pieces.append(text_piece(PLACEHOLDER))
        report.append(Change(messages[0]["seq"], None, "synthesized", "nothing is left of what the assistant said"))
    memory.pending = tuple(made)
    return AssistantTurn(pieces)


def _again(block: Json, memory: Memory, dialect: Dialect) -> str | None:
    """Say that a block with an identity of its own stands in the history already."""
    identity = dialect.identity(block) if block["type"] == "opaque" else None
    if identity is None:
        return None
    if identity in memory.used:
        return f"{identity} stands in the history already"
    memory.used[identity] = None
    return None


def _sent(block: Json, call: Call, piece: Piece, report: list[Change]) -> Json:
    """Give a call as it is sent."""
    if call.id == call.given and call.name == call.given_name:
        return block
    if call.id != call.given:
        report.append(Change(piece.seq, piece.index, "renamed", f"the id {call.given} is sent as {call.id}"))
    if call.name != call.given_name:
        report.append(Change(piece.seq, piece.index, "renamed", f"the tool {call.given_name} is sent as {call.name}"))
    return {**block, "id": call.id, "name": call.name}
