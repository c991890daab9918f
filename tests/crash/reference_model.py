"""The reference model: it executes the commands of a log one after the other, and returns the expected replies."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.crash.bodies import changes, wanted, written
from tests.crash.history import Call, Command
from tests.model import ModelAgent, Refused, Said, Snapshot


class Profile(NamedTuple):
    """The name, title and tags of an agent."""

    name: str
    title: str | None = None
    tags: Mapping[str, str] = {}


class Position(NamedTuple):
    """An agent between two commands."""

    head: int
    now: Snapshot
    alive: bool
    can_undo: bool
    can_redo: bool
    name: str


class ReferenceModel:
    """All agents, and every position that each of them ever had."""

    def __init__(self) -> None:
        self.agents: dict[str, ModelAgent] = {}
        self.profiles: dict[str, Profile] = {}
        self.positions: dict[str, list[Position]] = {}
        # The source of each clone.
        self._sources: dict[str, str] = {}

    def do(self, call: Call, command: Command) -> dict[str, Any]:
        """Execute a command of the log; return the fields that its reply must have.

        Raises:
            Refused: the command is not possible.
        """
        uid = command.subject
        self._require_head(call, command)
        expected = self._apply(call, command) if uid in self.agents else self._create(call, command)
        for touched in command.heads:
            self.positions.setdefault(touched, []).append(self._position(touched))
        if call.method in {"create", "clone", "change", "revive"}:
            expected |= self.profiles[uid]._asdict()
        return {**expected, "head": self.agents[uid].head}

    def descendants(self, uid: str) -> Iterator[str]:
        """Return an agent's clones, and the clones of those."""
        for clone, source in self._sources.items():
            if source == uid:
                yield clone
                yield from self.descendants(clone)

    def _position(self, uid: str) -> Position:
        agent = self.agents[uid]
        can = bool(agent.undoable), bool(agent.redoable)
        return Position(agent.head, agent.now, agent.alive, *can, self.profiles[uid].name)

    def _require_head(self, call: Call, command: Command) -> None:
        """Refuse a command whose `if_seq` is not the head; for a new clone, the head of its source."""
        head, new = call.params.get("if_seq"), command.subject not in self.agents
        judge = self._source(command) if new and command.kind == "clone" else self.agents.get(command.subject)
        if head is not None and judge is not None and judge.head != head:
            raise Refused("conflict")

    def _require_free(self, name: str, uid: str) -> None:
        """Refuse a name that another live agent has."""
        if any(self.agents[other].alive and self.profiles[other].name == name for other in self.agents if other != uid):
            raise Refused("exists")

    def _create(self, call: Call, command: Command) -> dict[str, Any]:
        """Create an agent."""
        uid, params = command.agent, call.params
        self._require_free(call.target, uid)
        if command.kind == "clone":
            source = self._sources[uid] = command.events[0].data["from"]
            self.agents[uid] = self._source(command).clone(command.events[0].data["at"])
            self.profiles[uid] = self.profiles[source]._replace(name=call.target)
            return {}
        if command.kind != "created":
            raise Refused("not_found")
        agent, rows = ModelAgent(), _rows(call, command)
        self.profiles[uid] = Profile(call.target)
        if call.method == "create":
            agent.create(params.get("system"))
        else:
            agent.add(rows, create=True)
        self.agents[uid] = agent
        return {} if call.method == "create" else {"first": 2}

    def _source(self, command: Command) -> ModelAgent:
        data = command.events[0].data
        source = self.agents[data["from"]]
        if not 0 <= data["at"] <= source.head:
            raise Refused("invalid_params")
        return source

    def _apply(self, call: Call, command: Command) -> dict[str, Any]:
        agent, params = self.agents[command.subject], call.params
        was, before = agent.head, agent.now
        match call.method:
            case "add" | "ingest" | "load":
                agent.add(_rows(call, command))
                return {"first": was + 1}
            case "mark":
                agent.mark(params.get("label"))
                return {"seq": was + 1, "label": params.get("label")}
            case "rewind":
                agent.rewind(params.get("label"))
                dropped = _records(before) - _records(agent.now)
                return {"target": agent.now[-1].seq, "dropped": dropped, "was": was}
            case "undo":
                step = agent.undoable[-1:]
                agent.undo()
                return {"undone": step[0][0], "was": was}
            case "redo":
                step = agent.redoable[-1:]
                agent.redo()
                return {"redone": step[0][0], "was": was}
            case "clone":
                agent.take_over(self._source(command), command.events[0].data["at"])
                return {}
            case "clear":
                agent.clear()
                return {"was": was}
            case "restore":
                agent.restore(params["at"])
                return {"was": was}
        return self._apply_inert(call, command)

    def _apply_inert(self, call: Call, command: Command) -> dict[str, Any]:
        """Execute a command that leaves the conversation as it is."""
        uid, params = command.subject, call.params
        if call.method == "kill":
            return self._kill(command, cascade=bool(params.get("cascade")))
        agent, profile = self.agents[uid], self.profiles[uid]
        if agent.alive == (call.method == "revive"):
            raise Refused("it is already alive, or it is dead")
        if call.method == "change":
            profile = profile._replace(**changes(call))
        self._require_free(profile.name, uid)
        self.profiles[uid] = profile
        agent.alive = True
        agent.inert()
        return {}

    def _kill(self, command: Command, *, cascade: bool) -> dict[str, Any]:
        """Kill the agents in the log, which must be exactly those that the command had to kill."""
        root = command.subject
        family = {root, *(self.descendants(root) if cascade else ())}
        victims = {uid for uid in family if self.agents[uid].alive}
        if victims != command.heads.keys():
            raise Refused(f"takes {sorted(command.heads)}, not {sorted(victims)}")
        for uid in victims:
            self.agents[uid].alive = False
            self.agents[uid].inert()
        return {"killed": list(command.heads)}


def _rows(call: Call, command: Command) -> list[tuple[str, str | None, str | None]]:
    """Return the rows that the call asked for, with the data that the daemon added."""
    if wanted(call) != written(command):
        raise Refused("says something else")
    said = [event for event in command.events if event.kind != "created"]
    return [(event.kind, event.content, event.data_json) for event in said]


def _records(now: Snapshot) -> int:
    return sum(isinstance(node, Said) for node in now)
