"""Calls and results of which one or both lack an id: the id tells, else the name, else the order."""

from typing import Any, NamedTuple

from reeld.formats.fields import text_at
from reeld.formats.report import Change

# How surely a result answers a call.
_BY_ID, _BY_NAME, _BY_ORDER, _NOT = range(4)


class _Waiting(NamedTuple):
    """A call without a result; ``made`` is whether its id was made here."""

    id: str
    name: Any
    made: bool


class Pairing:
    """Gives ids to the calls of a request that have none, in their order; ``report`` says which."""

    def __init__(self) -> None:
        self.report: list[Change] = []
        self._waiting: list[_Waiting] = []

    def call(self, made: str, name: Any, where: str) -> str:
        """Give a call the id that was made for it.

        Args:
            made: the id.
            name: the tool's name.
            where: the call's place.
        """
        self._waiting.append(_Waiting(made, name, made=True))
        self.report.append(Change(None, None, "synthesized", f"{where} has no id; it is now the call {made}"))
        return made

    def called(self, given: str, name: Any) -> None:
        """Note a call that has an id, where its result may have none."""
        self._waiting.append(_Waiting(given, name, made=False))

    def result(self, given: Any, name: Any, where: str) -> str:
        """Give the id of the call that a result answers; where none fits, its own, or an id that is nobody's.

        Args:
            given: its own id, where it has one.
            name: the name of the tool, where it says so.
            where: the id's place.
        """
        own = None if given in (None, "") else text_at(given, where)
        found = [_fitting(call, own, name) for call in self._waiting]
        best = min(found, default=_NOT)
        return (own or where) if best == _NOT else self._waiting.pop(found.index(best)).id


def _fitting(call: _Waiting, own: str | None, name: Any) -> int:
    """Tell how surely a result with an id of its own, or none, answers a call."""
    if call.id == own:
        return _BY_ID
    if own is not None and not call.made:
        return _NOT
    if name is not None and call.name == name:
        return _BY_NAME
    return _BY_ORDER if own is None else _NOT
