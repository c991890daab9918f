"""Commands that arrive together, and are staged together, do what they do one by one."""

import random
from typing import Any

import pytest

import reel
from reel.base.errors import ReelError
from tests.reeld.serving.conftest import Connect, Peer
from tests.reeld.store.making import distrust_disk, trust_disk

# The commands of a program, and the maximum number of those that arrive together.
_COMMANDS, _TOGETHER = 120, 20
_KEYS = ("k1", "k2", "k3")
# What differs between two agents that were told the same.
_OWN = ("agent", "killed", "time", "id", "created", "updated")


class Commands:
    """Makes random commands on one agent; its name is filled in later.

    Args:
        chance: what decides.
    """

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        # About where the head is.
        self.head = 1
        self._free: list[int] = []

    def some(self) -> list[tuple[str, dict[str, Any]]]:
        """Return commands that arrive together."""
        # A key of a command that is under way is taken, whatever becomes of that.
        self._free = self._chance.sample(range(_TOGETHER), _TOGETHER)
        return [self._one() for _ in range(self._chance.randint(1, _TOGETHER))]

    def _one(self) -> tuple[str, dict[str, Any]]:
        chance = self._chance
        draw = chance.random()
        if draw < 0.06:
            return chance.choice(("undo", "clear", "kill", "revive", "revive", "mark")), {}
        conditions: dict[str, Any] = {}
        if chance.random() < 0.1:
            conditions["key"] = f"{self._free.pop()} "  # completed with the agent's name
        if chance.random() < 0.1:
            conditions["if_seq"] = self._seq()
        if draw < 0.6:
            return "add", {"messages": self._messages(), **conditions}
        parts = [{"method": "add", "messages": self._messages()} for _ in range(chance.randint(1, 3))]
        key = {name: value for name, value in conditions.items() if name == "key"}
        return "commit", {"parts": parts, **key}

    def _messages(self) -> list[Any]:
        return [self._message() for _ in range(self._chance.randint(1, 3))]

    def _message(self) -> Any:
        chance = self._chance
        match chance.randrange(8):
            case 0 | 1 | 2:
                expected = chance.choice((None, 0, self._seq(), self._seq()))
                return reel.state(chance.choice(_KEYS), chance.randrange(9), expected)
            case 3:
                return reel.no_state(chance.choice(_KEYS), chance.choice((None, 0, self._seq())))
            case 4:
                return {"role": "user", "content": "known?", "ref": f"r{chance.randrange(30)}"}
            case 5:
                call = {"type": "tool_call", "id": f"c{chance.randrange(5)}", "name": "f", "arguments": "{}"}
                return {"role": "assistant", "content": [call]}
            case 6:
                answered = f"c{chance.randrange(5)}"
                result = {"type": "tool_result", "tool_call_id": answered, "content": "done", "is_error": False}
                return {"role": "tool", "content": [result]}
        return f"text {chance.randrange(1_000)}"

    def _seq(self) -> int:
        return max(0, self.head + self._chance.randint(-6, 6))


def named(name: str, method: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a command for an agent."""
    own = {**params, **({"key": params["key"] + name} if "key" in params else {})}
    if method == "commit":
        return method, {**own, "parts": [{**part, "agent": name} for part in params["parts"]]}
    return method, {**own, "agent": name}


def common(outcome: Any) -> Any:
    """Return what an outcome has in common with that of another agent."""
    if isinstance(outcome, ReelError):
        return type(outcome), common(outcome.data)
    if isinstance(outcome, dict):
        return {key: common(value) for key, value in outcome.items() if key not in _OWN}
    if isinstance(outcome, list):
        return [common(each) for each in outcome]
    return outcome.replace("together", "alone") if isinstance(outcome, str) else outcome


async def everything(peer: Peer, agent: str) -> Any:
    """Return the log of an agent, its values and its messages."""
    found = [await peer.call(method, agent) for method in ("history", "state", "messages")]
    return common(found)


@pytest.mark.parametrize("seed", range(4))
async def test_as_one_by_one(connect: Connect, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Random commands have the same outcomes, and write the same."""
    peer = connect()
    await peer.call("hello", {"errors": "map"})
    for name in ("together", "alone"):
        await peer.call("create", name)
    commands, count = Commands(random.Random(seed)), 0
    while count < _COMMANDS:
        some = commands.some()
        count += len(some)
        trust_disk(monkeypatch)
        outcomes = await peer.ask(*(named("together", *command) for command in some))
        distrust_disk(monkeypatch)
        for command, outcome in zip(some, outcomes, strict=True):
            (alone,) = await peer.ask(named("alone", *command))
            assert common(alone) == common(outcome), (command, common(alone), common(outcome))
        commands.head = (await peer.call("state", "together"))["head"]
    assert await everything(peer, "alone") == await everything(peer, "together")
    assert [] == (await peer.call("verify"))["problems"]
