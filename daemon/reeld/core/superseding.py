"""Results that take the place of an earlier result of the same call, and how they are marked.

A tool that waits for a confirmation answers twice, and the last result counts (rule X19). What a later one takes the
place of is before it on the path of the conversation, and a path never changes. So it is found out once, when the
result is added, and kept in the metadata of its message: whoever reads the message reads the mark, in whatever pages,
in whichever clone, and after whatever undo.

Nothing keeps the calls of a whole conversation at hand. The path is looked at backwards, to the newest turn of the
assistant's with a call of that id, which is nearly always one of the last few messages. In a turn of several messages
an id may come again before anybody answers, as when a model is asked once more: each of these calls has a result of its
own, as in what is rendered. A call that is further back than ``FARTHEST`` is not found, so that a result of no call at
all costs no more than that.
"""

from collections.abc import Iterable, Sequence

from reel.said.kinds import CONVERSATION, ROLES
from reel.said.messages import SUPERSEDES
from reel.said.records import Parts
from reeld.core.conversation import Conversation
from reeld.core.events import Event, Mark, Node
from reeld.core.milestones import Milestone
from reeld.core.rows import CheckedRow, with_metadata

# The records that are looked at: at most 2 ms in memory, and 0.1 s in the log.
FARTHEST = 10_000


class LookBack:
    """Looks backwards for the calls of the results among some rows.

    Args:
        rows: the rows.
    """

    def __init__(self, rows: Sequence[CheckedRow]) -> None:
        self._rows = rows
        # How many results each call that is looked for has so far, by its id.
        self._wanted: dict[str, int] = {}
        # How many results each call that was found still waits for, by its id.
        self._open: dict[str, int] = {}
        # The ids that were called in the turn that is looked at: there may be more calls of them further back in it.
        self._turn: set[str] = set()
        self._room = FARTHEST
        # The milestone before what was looked at; ``None`` if nothing is before it.
        self.base: Milestone | None = None
        own: set[str] = set()
        is_first_turn = True
        for row, parts in rows:
            if parts is not None:
                calls = _calls_in(parts)
                own.update(calls)
                if is_first_turn:
                    self._turn.update(calls)
                for call_id in _results_in(parts):
                    if call_id not in own:
                        self._wanted[call_id] = 0
            is_first_turn = is_first_turn and not _ends_turn(row.kind)
        # The calls of the rows that may go on with a turn.
        self._first_turn = frozenset(self._turn)
        self._open.update(dict.fromkeys(self._first_turn, 0))

    @classmethod
    def over(
        cls, rows: Sequence[CheckedRow], staged: Iterable[Event], conversation: Conversation, tip: int | None
    ) -> "LookBack":
        """Return one that has looked at everything in memory.

        Args:
            rows: the rows.
            staged: the staged events before them, the newest first.
            conversation: what these are staged over.
            tip: where in it they begin.
        """
        look = cls(rows)
        look.take(staged)
        look.take(conversation.back_from(tip))
        look.base = None if look.is_over or tip is None else conversation.base
        return look

    @property
    def is_over(self) -> bool:
        """Whether all calls are found, or those that are not are too far back."""
        return not (self._wanted or self._turn) or self._room <= 0

    def take(self, nodes: Iterable[Node | Event]) -> None:
        """Look at what is before the rows, and before what was looked at already, the newest first."""
        for node in nodes:
            if self.is_over:
                break
            if isinstance(node, Mark) or node.kind not in CONVERSATION:
                continue
            self._room -= 1
            if _ends_turn(node.kind):
                self._turn.clear()
            if node.tools is not None:
                self._look_at(*node.tools)

    def _look_at(self, calls: Sequence[tuple[str, str]], results: Sequence[str]) -> None:
        for call_id in results:
            if call_id in self._wanted:
                self._wanted[call_id] += 1
        for call_id, _ in calls:
            if call_id in self._wanted:
                self._turn.add(call_id)
                self._open[call_id] = -self._wanted.pop(call_id)
            if call_id in self._turn:
                self._open[call_id] += 1

    def marked(self) -> list[CheckedRow]:
        """Return the rows, with a mark on each message that has a later result, and on no other."""
        open_calls, turn = dict(self._open), set(self._first_turn)
        return [self._marked(row, open_calls, turn) for row in self._rows]

    def _marked(self, given: CheckedRow, open_calls: dict[str, int], turn: set[str]) -> CheckedRow:
        if _ends_turn(given.row.kind):
            turn.clear()
        parts = given.parts
        if parts is None:
            return given
        for call_id in _calls_in(parts):
            open_calls[call_id] = open_calls[call_id] + 1 if call_id in turn else 1
            turn.add(call_id)
        later = []
        for call_id in _results_in(parts):
            if call_id in open_calls:
                open_calls[call_id] -= 1
                if open_calls[call_id] < 0:
                    later.append(call_id)
        if parts.role != "tool" or parts.provider_metadata.get(SUPERSEDES, []) == later:
            return given
        return with_metadata(given, {SUPERSEDES: list(dict.fromkeys(later)) or None})


def has_results(rows: Sequence[CheckedRow]) -> bool:
    """Return whether there are results among some rows; most rows are plain texts."""
    return any(parts is not None and parts.role == "tool" for _, parts in rows)


def _ends_turn(kind: str) -> bool:
    """Return whether a turn of the assistant's ends before a record of this kind; a new prompt is nobody's."""
    return ROLES.get(kind, "assistant") != "assistant"


def _calls_in(parts: Parts) -> Sequence[str]:
    if parts.role != "assistant":
        return ()
    return [block["id"] for block in parts.content if block["type"] == "tool_call"]


def _results_in(parts: Parts) -> Sequence[str]:
    if parts.role != "tool":
        return ()
    return [block["tool_call_id"] for block in parts.content if block["type"] == "tool_result"]
