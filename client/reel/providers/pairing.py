"""Pairs calls and results in a request if one or both of them have no id (rule X12)."""

from typing import Any

from reel.base.light_typing import NamedTuple
from reel.providers.changes import Change
from reel.providers.elements import require_str

# How well a result matches a call; a smaller number is a better match.
_BY_NAME, _BY_ORDER, _NOT = range(3)


class _OpenCall(NamedTuple):
    """A call without a result.

    Args:
        id: its id.
        name: the name of its tool.
        made: whether the id was generated here.
    """

    id: str
    name: Any
    made: bool


class Pairing:
    """Records the calls of a request in order, and finds the call that a result answers.

    ``report`` lists the calls that were given an id.
    """

    def __init__(self) -> None:
        self.report: list[Change] = []
        # By their number, in order; and the numbers of those of each id.
        self._open: dict[int, _OpenCall] = {}
        self._numbers: dict[str, list[int]] = {}
        self._last = 0

    def add_call_without_id(self, made: str, name: Any, where: str) -> str:
        """Record a call without an id, and return its new id.

        Args:
            made: the id that was generated for it.
            name: the name of its tool.
            where: its place in the request.
        """
        self._add(_OpenCall(made, name, made=True))
        self.report.append(Change(None, None, "synthesized", f"{where} has no id; it is now the call {made}"))
        return made

    def add_call(self, given: str, name: Any) -> None:
        """Record a call that has an id; its result may have none."""
        self._add(_OpenCall(given, name, made=False))

    def _add(self, call: _OpenCall) -> None:
        self._last += 1
        self._open[self._last] = call
        self._numbers.setdefault(call.id, []).append(self._last)

    def id_for_result(self, given: Any, name: Any, where: str) -> str:
        """Return the id of the call that a result answers: by its id, otherwise by its name, otherwise by the order.

        Args:
            given: the result's own id, if it has one.
            name: the name of its tool, if it has one.
            where: the place of the id in the request.

        Returns:
            the id; if no call matches, the result's own id, or one that no call has.
        """
        own = None if given in (None, "") else require_str(given, where)
        # Most results have the id of their call, and a history may have many calls without a result.
        if own is not None and own in self._numbers:
            return self._pop(self._numbers[own][0])
        matches = [(_match(call, own, name), number) for number, call in self._open.items()]
        best, first = min(matches, default=(_NOT, 0))
        return (own or where) if best == _NOT else self._pop(first)

    def _pop(self, number: int) -> str:
        call = self._open.pop(number)
        numbers = self._numbers[call.id]
        numbers.remove(number)
        if not numbers:
            del self._numbers[call.id]
        return call.id


def _match(call: _OpenCall, own: str | None, name: Any) -> int:
    """Return how well a result with this id, which no call has, and this tool name matches a call."""
    if own is not None and not call.made:
        return _NOT
    if name is not None and call.name == name:
        return _BY_NAME
    return _BY_ORDER if own is None else _NOT
