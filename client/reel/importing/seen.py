"""Which sources have been imported completely, so that they are not read again while they do not change.

This is only a shortcut: without it everything is read again, and found to be there.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from reel.importing.steps import Source

# Raised when the readers change: what an older one has read is read again.
_VERSION = 1


class Seen:
    """The sources that were imported, with their sizes and times, and the heads of their agents.

    Args:
        path: the file where this is kept.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._sources: dict[str, list[object]] = {}
        with suppress(OSError, ValueError):
            kept = json.loads(Path(path).read_text(encoding="utf-8"))
            if type(kept) is dict and kept.get("version") == _VERSION and type(kept.get("sources")) is dict:
                self._sources = kept["sources"]

    def conversations(self, source: Source, heads: Mapping[str, int]) -> int | None:
        """Return how many conversations a source has that did not change since it was imported; else ``None``.

        It counts as changed if its agents do not have all of it any more.

        Args:
            source: the source.
            heads: the head of each agent that there is, by its id.
        """
        match self._sources.get(_key(source)):
            case [source.size, source.modified, dict(agents)]:
                if all(heads.get(agent, -1) >= head for agent, head in agents.items()):
                    return len(agents)
        return None

    def add(self, source: Source, heads: Mapping[str, int]) -> None:
        """Note that a source was imported into agents, which have these heads by now."""
        self._sources[_key(source)] = [source.size, source.modified, dict(heads)]

    def save(self) -> None:
        """Write the file; if that is impossible, everything is read again the next time."""
        new = f"{self._path}.new"
        with suppress(OSError):
            Path(self._path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                json.dump({"version": _VERSION, "sources": self._sources}, file)
            Path(new).replace(self._path)


def _key(source: Source) -> str:
    return f"{source.path}\0{source.key}" if source.key else source.path
