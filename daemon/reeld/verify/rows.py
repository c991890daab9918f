"""Stored agents and events, the checks of a single row, and the report of all problems."""

from collections.abc import Iterable, Iterator
from typing import Any

from reel.base.ids import is_id
from reel.base.light_typing import NamedTuple
from reel.base.values import clean, is_clean
from reel.said.blocks import InvalidRecord, kind_of
from reel.said.kinds import CONVERSATION, KNOWN
from reel.said.records import parse_data, read_row
from reeld.core.validation import why_not_a_name
from reeld.store.checksums import DAMAGED

# The number of problems that are listed; further ones are only counted.
LISTED = 100


class Problem(NamedTuple):
    """A problem: a stable keyword, an explanation, and the event concerned, if any."""

    what: str
    reason: str
    seq: int | None = None
    event_id: int | None = None


class ReportedProblem(NamedTuple):
    """A problem, and the id and name of the agent concerned, if any."""

    problem: Problem
    uid: str | None
    name: str | None


# Problems that no backup repairs, because nothing is lost: an unreadable record is kept, an event of an unknown kind is
# from a newer version, and a milestone is rebuilt.
HARMLESS = frozenset({"record", "kind", "milestone"})


class Report:
    """Counts of checked items, the first problems, and the number of further ones."""

    def __init__(self) -> None:
        self.agents = 0
        self.events = 0
        # The number of problems that are damage.
        self.damage = 0
        self.listed: list[ReportedProblem] = []
        self.omitted = 0

    def note(self, problems: Iterable[Problem], uid: str | None = None, name: str | None = None) -> None:
        """Add problems; clean the texts of damaged rows, which may be invalid."""
        for problem in problems:
            self.damage += problem.what not in HARMLESS
            if len(self.listed) < LISTED:
                told = problem._replace(reason=clean(problem.reason)[0])
                self.listed.append(ReportedProblem(told, uid and clean(uid)[0], name and clean(name)[0]))
            else:
                self.omitted += 1

    def as_map(self) -> dict[str, Any]:
        """Return the report as the reply to ``verify``."""
        return {
            "agents": self.agents,
            "events": self.events,
            "problems": [_as_map(found) for found in self.listed],
            "omitted": self.omitted,
        }


def _as_map(found: ReportedProblem) -> dict[str, str | int]:
    problem = found.problem
    fields = {"agent": found.uid, "name": found.name, "seq": problem.seq, "id": problem.event_id}
    given = {field: value for field, value in fields.items() if value is not None}
    return {"what": problem.what, "reason": problem.reason, **given}


_NONE = type(None)
# A rewind to the state before a message, rather than to a mark.
_REPLACES = "rewind before"
# The required and optional fields of a state event's data, with their types.
_MUST: dict[str, dict[str, tuple[type, ...]]] = {
    "created": {"name": (str,)},
    "mark": {"label": (str, _NONE)},
    "rewind": {"target": (int,)},
    _REPLACES: {"before": (int,)},
    "clone": {"from": (str,), "at": (int,)},
    "restore": {"to": (int,)},
    "redacted": {"events": (int,), "by": (str,)},
    "lost": {"from": (int,), "to": (int,)},
}
# What a type is called in an error.
_NAMES = {str: "a string", int: "an integer", dict: "a map", bool: "a boolean", _NONE: "null"}
_MAY: dict[str, dict[str, tuple[type, ...]]] = {
    "created": {"title": (str,), "tags": (dict,)},
    "changed": {"name": (str,), "title": (str, _NONE), "tags": (dict,)},
    "rewind": {"label": (str,)},
    "restore": {"undoes": (int,), "redoes": (int,), "undo": (int,)},
    "agent_killed": {"by": (str,), "reason": (str,), "cascade": (bool,)},
}


class AgentRow(NamedTuple):
    """An agent's row, and the values that it must agree with."""

    row: int
    uid: str
    name: str
    title: str | None
    tags: str
    source: int | None
    source_at: int | None
    killed: int | None
    head: int
    # The source's id and head; ``None`` if that agent does not exist.
    source_uid: str | None
    source_head: int | None
    # The seq of the newest event; ``None`` if there is no event.
    newest: int | None
    # The number of live agents with its name.
    namesakes: int

    @property
    def is_purged(self) -> bool:
        """Whether it was purged: only events that others inherited are left."""
        return not self.name


class EventRow(NamedTuple):
    """An event's row; ``parent_kind`` is ``None`` if the parent does not exist."""

    id: int
    seq: int
    command: int
    kind: str
    content: str | None
    data_json: str | None
    parent: int | None
    time: int
    parent_kind: str | None
    # The result of its checksum.
    is_intact: bool = True


def check_agent(agent: AgentRow) -> Iterator[Problem]:
    """Yield the problems of an agent's row."""
    if not is_id(agent.uid):
        yield Problem("id", "an id has 32 hex digits")
    if agent.is_purged:
        return
    if (flaw := why_not_a_name(agent.name)) is not None:
        yield Problem("name", flaw)
    if agent.killed is None and agent.namesakes > 1:
        yield Problem("name", f"{agent.namesakes} live agents have it")
    tags = tags_of(agent)
    if tags is None or not all(type(value) is str for value in tags.values()):
        yield Problem("tags", "they are not a map of strings")
    if agent.newest is None:
        yield Problem("head", "there is no event, not even the one that created it")
    elif agent.newest != agent.head:
        yield Problem("head", f"the head is {agent.head}, the newest event {agent.newest}")
    yield from _check_source(agent)


def _check_source(agent: AgentRow) -> Iterator[Problem]:
    source, at = agent.source, agent.source_at
    if source is None or at is None:
        if source != at:
            yield Problem("source", "there is a source without a position, or a position without a source")
    elif agent.source_head is None:
        yield Problem("source", "there is no such agent as its source")
    elif source >= agent.row:
        yield Problem("source", "it is not younger than its source")
    elif not 0 <= at <= agent.source_head:
        yield Problem("source", f"it was cloned at {at}, but its source has positions 0 to {agent.source_head}")


def tags_of(agent: AgentRow) -> dict[str, Any] | None:
    """Return an agent's tags; ``None`` if they are unreadable."""
    try:
        return parse_data(agent.tags)
    except InvalidRecord:
        return None


def read_event(event: EventRow) -> tuple[dict[str, Any], list[Problem]]:
    """Return an event's data and the problems of the event itself; the data of a bad event is empty."""
    if not event.is_intact:
        return {}, [Problem("checksum", DAMAGED)]
    if event.kind not in KNOWN:
        return {}, [Problem("kind", f"the kind {event.kind!r} is unknown")]
    try:
        return _data_of(event), []
    except InvalidRecord as error:
        return {}, [Problem("record" if event.kind in CONVERSATION else "data", f"{error.field}: {error.reason}")]


def _data_of(event: EventRow) -> dict[str, Any]:
    for column in ("content", "data_json"):
        text = getattr(event, column)
        if text is not None and not is_clean(text):
            raise InvalidRecord(column, "it has bytes that are not text")
    read_row(event.kind, event.content, event.data_json)
    if event.kind == "system" and event.content is None:
        raise InvalidRecord("content", "expected a string, got null")
    if event.kind == "state" and not event.content:
        raise InvalidRecord("content", "it has no key")
    data = {} if event.data_json is None else parse_data(event.data_json)
    shape = _REPLACES if event.kind == "rewind" and "before" in data else event.kind
    must, may = _MUST.get(shape, {}), _MAY.get(shape, {})
    for name in must:
        if name not in data:
            raise InvalidRecord(f"data_json.{name}", "is missing")
    for name, types in {**must, **may}.items():
        if name in data and type(data[name]) not in types:
            raise InvalidRecord(f"data_json.{name}", f"expected {_expected(types)}, got {kind_of(data[name])}")
    return data


def _expected(types: tuple[type, ...]) -> str:
    return " or ".join(_NAMES[each] for each in types)
