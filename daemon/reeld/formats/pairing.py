"""Calls without ids, and the results that answer them: the oldest that waits, by its name where that tells."""

from typing import Any

from reeld.formats.reading import text_at
from reeld.formats.report import Change


class Pairing:
    """Gives ids to the calls of a request that have none, in their order; ``report`` says which."""

    def __init__(self) -> None:
        self.report: list[Change] = []
        self._waiting: list[tuple[str, Any]] = []

    def call(self, made: str, name: Any, where: str) -> str:
        """Give a call the id that was made for it.

        Args:
            made: the id.
            name: the tool's name.
            where: the call's place.
        """
        self._waiting.append((made, name))
        self.report.append(Change(None, None, "synthesized", f"{where} has no id; it is now the call {made}"))
        return made

    def result(self, given: Any, name: Any, where: str) -> str:
        """Give the id of the call that a result answers; where none waits, an id that is nobody's.

        Args:
            given: its own id, where it has one.
            name: the name of the tool, where it says so.
            where: the id's place.
        """
        if given not in (None, ""):
            return text_at(given, where)
        if not self._waiting:
            return where
        fitting = (place for place, (_, known) in enumerate(self._waiting) if known == name)
        return self._waiting.pop(next(fitting, 0))[0]
