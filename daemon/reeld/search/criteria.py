"""What a search looks for, beside the words: as conditions of SQL, and as generated words that FTS5 finds."""

import json
from collections.abc import Iterable, Sequence

from reel.base.light_typing import NamedTuple
from reeld.search.entries import KINDS, agent_word, kind_word
from reeld.search.literals import Needed
from reeld.search.patterns import Pattern
from reeld.search.query import Query, match_expression
from reeld.search.raw_rows import condition_of
from reeld.search.volumes import Condition

# With more agents than this, the facts of every match are checked, instead of searching agent by agent.
_FEW_AGENTS = 100


class Criteria(NamedTuple):
    """The criteria of a search; ``None`` excludes nothing.

    Args:
        query: the words.
        agents: the rows of the agents to search.
        kinds: the kinds of events.
        live: whether to find only events in a current conversation, or only other events.
        since: the earliest time.
        until: the end of the time range, excluded.
        hidden: the rows of agents that are not searched.
        patterns: what a text must have, letter by letter.
    """

    query: Query
    agents: frozenset[int] | None = None
    kinds: frozenset[str] | None = None
    live: bool | None = None
    since: int | None = None
    until: int | None = None
    hidden: frozenset[int] = frozenset()
    patterns: tuple[Pattern, ...] = ()

    @property
    def is_checked(self) -> bool:
        """Whether the index alone does not say which events match."""
        return self.live is not None or bool(self.patterns)

    @property
    def needed(self) -> Sequence[Needed]:
        """The letters that every event has, for each pattern, as far as they are known."""
        return [each.needed for each in self.patterns if each.needed is not None and not each.is_excluded]

    @property
    def in_names(self) -> Sequence[Sequence[str]]:
        """What a name of every event has, one behind the other, for each pattern that matches only within a name."""
        return [each.in_name for each in self.patterns if each.in_name and not each.is_excluded]

    @property
    def raw(self) -> Condition | None:
        """What must be true of the row of an event, of all that is known of its letters; ``None`` if nothing is."""
        return condition_of(self.needed)

    @property
    def match(self) -> str | None:
        """An expression of FTS5 for events with all words; ``None`` if there is nothing to look for."""
        required = self._marked
        if self.kinds is None and self.query.excluded and not self.query.groups:  # FTS5 excludes only from something
            required.append(map(kind_word, KINDS))
        return match_expression(self.query, required)

    @property
    def about(self) -> str | None:
        """An expression of FTS5 for events of the agents and kinds, as far as it tells; ``None`` for all."""
        return match_expression(Query(), self._marked)

    @property
    def _marked(self) -> list[Iterable[str]]:
        """Generated words that mark the events of the agents and kinds; an event must have one of each group."""
        marked: list[Iterable[str]] = []
        if self.agents is not None and len(self.agents) <= _FEW_AGENTS:
            marked.append(map(agent_word, sorted(self.agents)))
        if self.kinds is not None:
            marked.append(map(kind_word, sorted(self.kinds)))
        return marked

    @property
    def condition(self) -> Condition:
        """What must be true of the facts of an event."""
        parts: list[tuple[str, object]] = []
        if self.agents is not None:
            parts.append(("agent IN (SELECT value FROM json_each(?))", json.dumps(sorted(self.agents))))
        if self.hidden:
            parts.append(("agent NOT IN (SELECT value FROM json_each(?))", json.dumps(sorted(self.hidden))))
        if self.kinds is not None:
            parts.append(("kind IN (SELECT value FROM json_each(?))", json.dumps([KINDS.index(k) for k in self.kinds])))
        if self.since is not None:
            parts.append(("said >= ?", self.since))
        if self.until is not None:
            parts.append(("said < ?", self.until))
        return Condition(" AND ".join(sql for sql, _ in parts) or "TRUE", tuple(value for _, value in parts))
