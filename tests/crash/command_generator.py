"""Random commands: any method, in any order, on a few agents that all clients share."""

import random
from itertools import count
from typing import Any, TypeAlias

from tests.crash.bodies import FORMAT, answer, request
from tests.crash.history import Call

# How often each method is chosen.
_WEIGHTS = {
    "add": 34,
    "ingest": 5,
    "load": 3,
    "messages": 8,
    "mark": 8,
    "rewind": 8,
    "clear": 3,
    "undo": 8,
    "redo": 5,
    "restore": 4,
    "clone": 6,
    "create": 1,
    "change": 5,
    "kill": 4,
    "revive": 8,
}
_LABELS = (None, "one", "two")
# Agents in use at a time.
_AGENTS = 6
# The number of commands whose keys may be used again for another agent, and the share of commands that do.
_KEYED = 8
_REUSE = 0.03

# A method, the address of an agent, and the other parameters.
Asked: TypeAlias = tuple[str, str, dict[str, Any]]


class Names:
    """The agents that may exist, shared by the clients of one daemon."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.recent: list[str] = []
        self.heads: dict[str, int] = {}

        # The ids by name, of agents whose creation was acknowledged.
        self.ids: dict[str, str] = {}

    def new(self) -> str:
        """Return an unused name."""
        self.recent = [*self.recent[1 - _AGENTS :], f"agent-{next(self._numbers)}"]
        return self.recent[-1]

    def note(self, call: Call) -> None:
        """Note the head and the id of an agent from a reply."""
        reply = call.reply or {}
        if "head" in reply:
            self.heads[call.target] = reply["head"]
        if call.method == "create" or (call.method == "clone" and "into" not in call.params):
            self.ids[call.target] = reply["id"]
        elif call.renames:
            self.recent = [reply["name"] if self.ids.get(name) == reply["id"] else name for name in self.recent]
            self.ids[reply["name"]] = reply["id"]


class CommandGenerator:
    """The commands of one client.

    Args:
        name: the client's name; its texts and keys begin with it.
        names: the agents.
        chance: the source of randomness.
    """

    def __init__(self, name: str, names: Names, chance: random.Random) -> None:
        self._name = name
        self._names = names
        self._random = chance
        self._texts = 0
        # Commands with a key that address an agent by its id, which never means another agent.
        self._keyed: list[Asked] = []

    def burst(self) -> list[Asked]:
        """Return the commands of one burst."""
        return [self._one() for _ in range(self._random.choice((1, 1, 8, 32)))]

    def _one(self) -> Asked:
        ids = sorted(set(self._names.ids.values()))
        if self._keyed and self._random.random() < _REUSE:
            method, agent, params = self._random.choice(self._keyed)
            other = self._random.choice(ids)
            if other != agent:
                return method, other, params
        asked = self._any()
        if "key" in asked[2] and asked[1] in ids:
            self._keyed = [*self._keyed[1 - _KEYED :], asked]
        return asked

    def _any(self) -> Asked:
        pick = self._random.choice
        (method,) = self._random.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
        if method == "create" or not self._names.recent:
            return "create", self._names.new(), {"system": pick((None, "be brief")), **self._options()}
        name = pick(self._names.recent)
        agent = self._names.ids.get(name, name) if pick((True, False)) else name
        if method == "messages":
            return method, agent, {"view": "conversation", "limit": 10_000}
        if method == "change":
            return self._change(name)
        if method in {"add", "ingest", "load"}:
            return self._say(method, agent)
        return method, agent, {**self._params(method, agent), **self._options(agent)}

    def _say(self, method: str, agent: str) -> Asked:
        pick = self._random.choice
        create = pick((None, None, None, True))
        if create and self._random.random() < 0.1:
            agent = self._names.new()
        match method:
            case "ingest":
                params: dict[str, Any] = {"format": FORMAT, "body": answer(self._text())}
            case "load":
                params = {"format": FORMAT, "body": request(self._text(), self._text(), self._text())}
            case _:
                params = {"messages": [self._text() for _ in range(pick((1, 1, 1, 3, 9)))]}
        return method, agent, {**params, "create": create, **self._options(agent)}

    def _change(self, name: str) -> Asked:
        """Change an agent's profile; its name only by its id, see :func:`tests.crash.attribution.name_holders`."""
        pick = self._random.choice
        params = {"title": pick(("", self._text()[:9])), "tags": pick((None, {}, {"by": self._name}))}
        agent = self._names.ids.get(name)
        if agent is not None:
            params["name"] = pick((None, f"{name}-", pick(self._names.recent)))
        return "change", agent or name, {**params, **self._options(agent)}

    def _params(self, method: str, agent: str) -> dict[str, Any]:
        pick = self._random.choice
        match method:
            case "mark" | "rewind":
                return {"label": pick(_LABELS)}
            case "restore":
                return {"at": self._random.randint(0, self._names.heads.get(agent, 0))}
            case "clone":
                into = pick(self._names.recent)
                return {"into": into} if into != agent and pick((True, False)) else {"name": self._names.new()}
            case "kill":
                return {"cascade": pick((None, True))}
        return {}

    def _options(self, agent: str | None = None) -> dict[str, Any]:
        """Return a key for most commands, and `if_seq` for some."""
        options: dict[str, Any] = {}
        if self._random.random() < 0.7:
            options["key"] = f"{self._name}-{self._random.getrandbits(64):x}"
        if agent in self._names.heads and self._random.random() < 0.1:
            options["if_seq"] = self._names.heads[agent]
        return options

    def _text(self) -> str:
        """Make a unique text; one in twenty is long."""
        self._texts += 1
        return f"{self._name}:{self._texts}".ljust(self._random.choice([0] * 19 + [20_000]))


def one_restore(asked: list[Asked]) -> list[Asked]:
    """Keep only the first restore: if two had no reply, the log does not say which one was executed."""
    restores = [each for each in asked if each[0] == "restore"]
    return [each for each in asked if each not in restores[1:]]
