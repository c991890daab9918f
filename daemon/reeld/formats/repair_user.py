"""Repair of a user turn: the results of the calls before it, then the user's blocks."""

from reel.base.strict_json import Json
from reel.base.values import new_tuple
from reel.providers.changes import Action, Change
from reel.providers.content import as_error, media_title, texts_of
from reel.said.messages import SUPERSEDES
from reeld.formats.format import Position
from reeld.formats.model import CallResult, Piece, ToolCall, UserTurn, only_text, placeholder
from reeld.formats.repair_rules import Rules
from reeld.formats.repair_state import RepairState
from reeld.formats.server_tools import MessageGroup

NO_RESULT = "No result: the call was interrupted before it was answered."
_MEDIA = ("media", "opaque")


def repair_user_turn(group: MessageGroup, state: RepairState, rules: Rules, report: list[Change]) -> UserTurn:
    """Put the results first, in the order of their calls; synthesize missing ones (rules X4 and X11)."""
    calls, state.pending = state.pending, ()
    # The user's words alone are sent as they are, unless results must come before them.
    if not calls and (said := only_text(group.user, group.start)) is not None:
        return new_tuple(UserTurn, ([], *said))
    results = _only_results(calls, group) if calls else None
    turn = (
        _repaired(calls, group, state, rules, report) if results is None else new_tuple(UserTurn, (results, [], None))
    )
    for call in calls:
        # The first name of an id stays: only what was added is taken back when open exchanges are repaired again.
        state.answered.setdefault(call.given_id, call.given_name)
    return turn


def _repaired(
    calls: tuple[ToolCall, ...], group: MessageGroup, state: RepairState, rules: Rules, report: list[Change]
) -> UserTurn:
    builder = _UserTurnBuilder(calls, state, rules, report)
    for message_index, message in enumerate(group.user, group.start):
        for block_index, block in enumerate(message["content"]):
            piece = new_tuple(Piece, (message, message_index, block_index, block))
            if block["type"] == "tool_result":
                builder.add_result(piece)
            else:
                builder.add(piece)
    for number, call in enumerate(calls):
        if number not in builder.results:
            state.abandon(call)
            builder.results[number] = CallResult(call, NO_RESULT, failed=True, piece=None)
            report.append(Change(call.seq, None, "synthesized", f"the call {call.given_id} has no result"))
    pieces = builder.pieces
    if builder.moved:
        pieces = [piece for number in sorted(builder.moved) for piece in builder.moved[number]] + pieces
    if not pieces and not calls and rules.target.alternates and group.assistant:
        pieces = [placeholder()]
        seq = group.user[0]["seq"] if group.user else None
        report.append(Change(seq, None, "synthesized", "this API requires a user message here"))
    return UserTurn([builder.results[number] for number in range(len(calls))], pieces)


def _only_results(calls: tuple[ToolCall, ...], group: MessageGroup) -> list[CallResult] | None:
    """Return the results if these are all that a user turn has: a text for each call, in order; else ``None``."""
    results: list[CallResult] = []
    waiting = iter(calls)
    for message_index, message in enumerate(group.user, group.start):
        for block_index, block in enumerate(message["content"]):
            call = next(waiting, None)
            if call is None or block["type"] != "tool_result" or block["tool_call_id"] != call.given_id:
                return None
            content = block["content"]
            if type(content) is not str:
                return None
            piece = new_tuple(Piece, (message, message_index, block_index, block))
            results.append(new_tuple(CallResult, (call, content, bool(block.get("is_error")), piece)))
    return results if len(results) == len(calls) else None


class _UserTurnBuilder:
    """Collects the pieces of one user turn."""

    def __init__(self, calls: tuple[ToolCall, ...], state: RepairState, rules: Rules, report: list[Change]) -> None:
        self.calls = calls
        self.state = state
        self.rules = rules
        self.report = report
        # By the number of their call.
        self.results: dict[int, CallResult] = {}
        self.pieces: list[Piece] = []
        # By the number of the call: media of its result, after a title, that the API takes from the user only.
        self.moved: dict[int, list[Piece]] = {}

    def _note(self, piece: Piece, action: Action, why: str) -> None:
        self.report.append(Change(piece.seq, piece.block_index, action, why))

    def add(self, piece: Piece) -> None:
        """Add a block of the user, unless it cannot be sent."""
        why = self.rules.why_unsendable(piece.block, "user")
        if why is not None and not self._has_settings(piece):
            self._note(piece, "dropped", why)
            return
        follows = self.pieces and self.pieces[-1].message_index != piece.message_index
        if follows and self.rules.target.alternates:
            self.report.append(Change(piece.seq, None, "merged", "the message before it is the user's too"))
        self.pieces.append(piece)

    def _has_settings(self, piece: Piece) -> bool:
        """Whether a blank text stands for a message whose settings are sent."""
        return piece.block["type"] == "text" and self.rules.target.sends_settings(piece.message, self.rules.model)

    def add_result(self, piece: Piece) -> None:
        """Add a result: of a call of the previous turn, of an earlier one, or of none.

        Of several results of one call the last counts, as long as the assistant has not spoken (rule X19).
        """
        given_id = piece.block["tool_call_id"]
        matching = [number for number, call in enumerate(self.calls) if call.given_id == given_id]
        if matching:
            number = next((number for number in matching if number not in self.results), matching[-1])
            replaced = self.results.get(number)
            if replaced is not None and replaced.piece is not None:
                self._note(replaced.piece, "dropped", "a later result of the same call counts")
            if self.pieces and self.rules.target.results_first:
                self._note(piece, "moved", "a result must directly follow its call")
            self.results[number] = self._result(number, piece)
        elif (told := self.state.pop_told(given_id)) is not None:
            self.state.answered.setdefault(given_id, told.name)
            self._note(piece, "downgraded", f"the tool {told.name} is not in tools: its result is sent as text")
            self._add_as_text(f"Result of {told.name} ({given_id})", piece)
        elif (abandoned := self.state.pop_abandoned(given_id)) is not None:
            why = "this result came after its call was abandoned; it is sent as text"
            self._note(piece, "downgraded", why)
            self._add_as_text(f"Late result of {abandoned.given_name} ({given_id})", piece)
        elif (name := self.state.answered.get(given_id)) is not None:
            self._note(
                piece, "downgraded", "the call had a result before the assistant spoke; this one is sent as text"
            )
            self._add_as_text(f"Later result of {name} ({given_id})", piece)
        elif given_id in piece.message["provider_metadata"].get(SUPERSEDES, ()):
            self._note(piece, "downgraded", "the call and its first result are not sent; this result is sent as text")
            self._add_as_text(f"Later result of {given_id}", piece)
        else:
            self._note(piece, "dropped", "a result of no open call")

    def _add_as_text(self, title: str, piece: Piece) -> None:
        """Add the text of a result, then all other blocks of it that the user may send (rules X5 and X18)."""
        content = piece.block["content"]
        blocks = [] if type(content) is str else content
        words = texts_of(blocks) if blocks else content
        said = as_error(words) if piece.block.get("is_error") else words
        self.pieces.append(piece._replace(block={"type": "text", "text": f"{title}: {said}"}))
        for block in blocks:
            if block["type"] != "text":
                self.add(piece._replace(block=block))

    def _result(self, number: int, piece: Piece) -> CallResult:
        self.moved.pop(number, None)
        block = piece.block
        failed, content = bool(block.get("is_error")), block["content"]
        if type(content) is list:
            content = self._sendable(number, piece, content, "failed_result" if failed else "result") or ""
        return CallResult(self.calls[number], content, failed, piece)

    def _sendable(self, number: int, piece: Piece, blocks: list[Json], position: Position) -> list[Json]:
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
            title = media_title(self.calls[number].name, self.calls[number].id)
            self.moved[number] = [piece._replace(block={"type": "text", "text": title}), *moved]
        return sendable
