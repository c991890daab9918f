"""What the model makes of a log: its commands done anew, one after the other, and the replies that they would give."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.crash.history import Call, Command
from tests.model import ModelAgent, Refused, Said, Snapshot


class Position(NamedTuple):
    """An agent between two commands."""

    head: int
    now: Snapshot
    alive: bool
    can_undo: bool
    can_redo: bool


class World:
    """All agents, and each position that each of them ever had."""

    def __init__(self) -> None:
        self.agents: dict[str, ModelAgent] = {}
        self.positions: dict[str, list[Position]] = {}

    def do(self, call: Call, command: Command) -> dict[str, Any]:
        """Do a command of the log; give the fields that its reply must have.

        Raises:
            Refused: it was not possible.
        """
        uid = command.agent
        self._require_head(call, command)
        if uid not in self.agents:
            self.agents[uid] = self._new(command)
            expected: dict[str, Any] = {}
        else:
            expected = self._change(self.agents[uid], call, command)
        self.positions.setdefault(uid, []).append(_position(self.agents[uid]))
        return {**expected, "head": self.agents[uid].head}

    def _require_head(self, call: Call, command: Command) -> None:
        """Refuse what supposes another head; where a clone makes an agent, its source's."""
        wanted, new = call.params.get("if_seq"), command.agent not in self.agents
        judge = self._source(command) if new and command.kind == "clone" else self.agents.get(command.agent)
        if wanted is not None and judge is not None and judge.head != wanted:
            raise Refused("conflict")

    def _new(self, command: Command) -> ModelAgent:
        first = command.events[0]
        if first.kind == "clone":
            return self._source(command).clone(first.data["at"])
        if first.kind != "created":
            raise Refused("not_found")
        agent = ModelAgent()
        agent.create(command.events[1].content if len(command.events) > 1 else None)
        return agent

    def _source(self, command: Command) -> ModelAgent:
        data = command.events[0].data
        source = self.agents[data["from"]]
        if not 0 <= data["at"] <= source.head:
            raise Refused("invalid_params")
        return source

    def _change(self, agent: ModelAgent, call: Call, command: Command) -> dict[str, Any]:
        was, before, params = agent.head, agent.now, call.params
        match call.method:
            case "add":
                agent.add([("user", text, None) for text in params["messages"]])
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
            case "kill" | "revive":
                if agent.alive == (call.method == "revive"):
                    raise Refused("nothing to write")
                agent.alive = not agent.alive
                agent.inert()
                return {}
        return self._move(agent, call.method, params, was)

    @staticmethod
    def _move(agent: ModelAgent, method: str, params: Mapping[str, Any], was: int) -> dict[str, Any]:
        if method == "clear":
            agent.clear()
        else:
            agent.restore(params["at"])
        return {"was": was}


def refuses(position: Position, call: Call) -> bool:
    """Whether an agent that stands here refuses a call with the error that it got, or has nothing to do for it."""
    match call.error:
        case "conflict":
            return position.head == call.data.get("head") != call.params.get("if_seq")
        case "killed":
            return not position.alive
        case None:  # it had nothing to do
            return position.alive == (call.method == "revive")
        case "nothing_to_undo":
            return not (position.can_undo if call.method == "undo" else position.can_redo)
        case "no_such_mark":
            return not _has_mark(position.now, call.params.get("label"))
    return True


def _has_mark(now: Snapshot, label: str | None) -> bool:
    """Whether a rewind would find its mark."""
    said_after = False
    for node in reversed(now):
        if isinstance(node, Said):
            said_after = True
        elif said_after if label is None else node.label == label:
            return True
    return False


def _records(now: Snapshot) -> int:
    return sum(isinstance(node, Said) for node in now)


def _position(agent: ModelAgent) -> Position:
    return Position(agent.head, agent.now, agent.alive, bool(agent.undoable), bool(agent.redoable))
