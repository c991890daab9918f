"""Remembers completely imported sources, so that they are not read again unless they change.

This is only an optimization: without it, everything is read again, and found to exist already.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.importing.adding import state_file
from reel.importing.adding.trials import Trials
from reel.importing.steps import Problem, Source
from reel.importing.values import digest
from reel.reading.wording import count

# Incremented when the readers or the keys change: what was read before is read again.
_VERSION = 5


class Place(NamedTuple):
    """The file of a source, and the name of its conversation, which begins with that of the tool."""

    path: str
    conversation: str

    @property
    def tool(self) -> str:
        """The name of the tool."""
        return self.conversation.partition("/")[0]


class Seen:
    """The sources that were imported: their sizes and times, what is broken in them, and the heads of their agents.

    Args:
        path: the file that stores this.
        trials: remembers the sources that were not imported completely.
    """

    def __init__(self, path: str, trials: Trials | None = None) -> None:
        self._path = path
        self._trials = trials or Trials()
        self._sources: dict[str, list[object]] = {}
        # The heads of the agents of which :meth:`written_to` has told.
        self._told: dict[str, int] = {}
        # Whether the file lacks something.
        self._is_changed = False
        with suppress(OSError, ValueError):
            kept = json.loads(Path(path).read_text(encoding="utf-8"))
            if type(kept) is dict and kept.get("version") == _VERSION and type(kept.get("sources")) is dict:
                self._sources = kept["sources"]

    def agents(self, source: Source, heads: Mapping[str, int]) -> list[str] | None:
        """Return the agents of a source, or ``None`` if it has changed since its import.

        It also counts as changed if its agents no longer have all of it.

        Args:
            source: the source.
            heads: the head of each existing agent, by its id.
        """
        match self._sources.get(_key(source)):
            case [size, modified, facts, *_, dict(agents)]:
                has_all = all(heads.get(agent, -1) >= head for agent, (head, _) in agents.items())
                if (size, modified, facts) == _like(source) and has_all:
                    return list(agents)
        return None

    def broken(self, source: Source) -> Problem | None:
        """Return the first problem of a source that was imported, and how many more it has; ``None`` if all is well."""
        match self._sources.get(_key(source)):
            case [_, _, _, int(line), str(what), int(more), _]:
                others = f", and {count(more, 'more problem')} in it" if more else ""
                return Problem(source.path, line, f"{what}{others}")
        return None

    def has(self, source: Source) -> bool:
        """Return whether a source was imported before, whatever has happened to it since."""
        return _key(source) in self._sources

    def places(self) -> list[Place]:
        """Return where the sources are that were imported before."""
        return [Place(*key.split("\0")[:2]) for key in self._sources]

    def gone(self, heads: Mapping[str, int]) -> dict[str, str]:
        """Return the agents of sources that do not exist any more, with the names of their conversations.

        Args:
            heads: as for :meth:`agents`.
        """
        kept: Any = [found[-1] for found in self._sources.values()]
        return {agent: name for agents in kept for agent, (_, name) in agents.items() if agent not in heads}

    def written_to(self, tool: str, heads: Mapping[str, int], older: Callable[[str], Iterable[str]]) -> dict[str, str]:
        """Return the agents to which others have written since their import, with the names of their conversations.

        Each is returned once, and again if there is more.

        Args:
            tool: the name of the tool.
            heads: as for :meth:`agents`.
            older: returns the agents that a conversation was in before.
        """
        kept: Any = [found[-1] for found in self._sources.values()]
        imported = {
            agent: (head, name)
            for agents in kept
            for agent, (head, name) in agents.items()
            if name.startswith(f"{tool}/")
        }
        before = {agent: (0, name) for name in {name for _, name in imported.values()} for agent in older(name)}
        found = {
            agent: name
            for agent, (head, name) in (imported | before).items()
            if heads.get(agent, 0) > max(head, self._told.get(agent, 0))
        }
        self._told.update((agent, heads[agent]) for agent in found)
        return found

    def add(
        self, source: Source, agents: Mapping[str, tuple[int, str]], problems: Sequence[Problem] = (), more: int = 0
    ) -> None:
        """Record that a source was imported.

        Args:
            source: the source.
            agents: the agents that have it, with their current heads and the names of conversations.
            problems: what could not be read of it.
            more: how much more could not be.
        """
        broken = [problems[0].line, problems[0].what, len(problems) - 1 + more] if problems else []
        self._sources[_key(source)] = [*_like(source), *broken, dict(agents)]
        self._trials.succeed(_key(source))
        self._is_changed = True

    def postpone(self, source: Source) -> None:
        """Record that a source was read, and not imported completely."""
        self._trials.fail(_key(source), _like(source))

    def is_postponed(self, source: Source) -> bool:
        """Return whether a source was not imported completely, has not changed since, and is not read yet."""
        return not self._trials.is_due(_key(source), _like(source))

    def save(self) -> None:
        """Write the file if something is new; if that fails, everything is read again the next time."""
        if not self._is_changed:  # an import that watches saves every two seconds, for each tool
            return
        with suppress(OSError):
            state_file.replace(self._path, {"version": _VERSION, "sources": self._sources})
            self._is_changed = False


def _like(source: Source) -> tuple[int, int, str]:
    """Return what changes with a source: also a digest of what the tool keeps about it elsewhere, such as its title."""
    facts = digest(source.fork_of, *(part for fact in sorted(source.about.items()) for part in fact))
    return source.size, source.modified, facts


def _key(source: Source) -> str:
    # The name begins with the tool: a file in which one tool finds nothing may be another one's.
    return f"{source.path}\0{source.conversation}\0{source.key}"
