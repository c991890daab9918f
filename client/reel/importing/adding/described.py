"""Which of an agent's tags and titles a person changed since the importer set them, told by its log."""

from collections.abc import Mapping
from typing import Any

from reel.base.strict_json import parse
from reel.importing.values import map_in


class Described:
    """The description of an agent, as the events of its log set it."""

    def __init__(self) -> None:
        # The tags that somebody else set, changed or removed: they stay as they are.
        self.own: set[str] = set()
        # Whether the title is one that the importer set: then it follows that of the tool.
        self.follows_title = False
        self._tags: Mapping[str, Any] = {}

    def note(self, event: Any, *, is_importer: bool) -> None:
        """Process an event, if it describes the agent.

        Args:
            event: the event.
            is_importer: whether the importer wrote it.
        """
        if event["kind"] not in ("created", "changed") or not event.get("data_json"):
            return
        data = parse(event["data_json"])
        if "title" in data:
            self.follows_title = is_importer
        if "tags" in data:
            old, self._tags = self._tags, map_in(data, "tags")
            if is_importer:
                return
            self.own |= {name for name in old.keys() | self._tags.keys() if old.get(name) != self._tags.get(name)}
