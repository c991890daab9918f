"""Random programs of commands: the items are always those of a naive model, a list for each state."""

import random
from typing import Any, NamedTuple

import pytest

from reel.base.strict_json import parse
from tests.reeld.formats.item_samples import FOREIGN, SAMPLES
from tests.reeld.serving.conftest import Connect, Peer
from tests.thoroughness import FUZZ, sampled

pytestmark = [pytest.mark.slow, sampled]

# `make fuzz` runs more.
PROGRAMS = FUZZ // 100 or 2
STEPS = 25
FORMAT = "anthropic"


class Added(NamedTuple):
    """An item as it is read, and the seq of its first message."""

    seq: int
    item: Any


class Model:
    """What an agent's items are, and were before each command that can be undone."""

    def __init__(self, items: list[Added]) -> None:
        self.items = items
        self.before: list[list[Added]] = []

    def become(self, items: list[Added]) -> None:
        self.before.append(self.items)
        self.items = items


class Program:
    """Random commands, given to a daemon and to models of its agents."""

    def __init__(self, peer: Peer, chance: random.Random) -> None:
        self.peer = peer
        self.chance = chance
        self.models = {"a0": Model([])}

    async def step(self) -> None:
        name = self.chance.choice(list(self.models))
        model = self.models[name]
        command = self.chance.choice([self.add, self.add, self.say, self.undo, self.replace, self.clone, self.evict])
        await command(name, model)
        await self.check(name, model)

    async def add(self, name: str, model: Model) -> None:
        model.become([*model.items, *await self._added(name, self._some())])

    async def say(self, name: str, model: Model) -> None:
        reply = await self.peer.call("add", {"agent": name, "messages": "Hi", "create": True})
        item = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
        model.become([*model.items, Added(reply["first"], item)])

    async def undo(self, name: str, model: Model) -> None:
        if model.before:
            await self.peer.call("undo", name)
            model.items = model.before.pop()

    async def replace(self, name: str, model: Model) -> None:
        if model.items:
            index = self.chance.randrange(len(model.items))
            some = self._some() if self.chance.random() < 0.7 else []
            model.become([*model.items[:index], *await self._added(name, some, model.items[index].seq)])

    async def clone(self, name: str, model: Model) -> None:
        if model.items and len(self.models) < 4:
            twin = f"a{len(self.models)}"
            await self.peer.call("clone", name, twin)
            self.models[twin] = Model(model.items)

    async def evict(self, _name: str, _model: Model) -> None:
        """Forget the agents; perhaps also some of the items that were written."""
        services = self.peer.connection._services
        services.registry.residency.evict_idle(keep=0)
        services.render_cache.forget({row for row in range(5) if self.chance.random() < 0.3})

    async def check(self, name: str, model: Model) -> None:
        if not model.items and name == "a0":
            return
        assert await self._items(name) == model.items
        count = self.chance.randint(1, 5)
        assert await self._items(name, last=count) == model.items[-count:]
        since = self.chance.choice([0, *(added.seq for added in model.items)])
        assert (
            await self._items(name, since=since, limit=count)
            == [added for added in model.items if added.seq > since][:count]
        )

    def _some(self) -> list[Any]:
        pool = [*SAMPLES[FORMAT], SAMPLES[FORMAT][2], *FOREIGN]
        return [self.chance.choice(pool) for _ in range(self.chance.randint(1, 4))]

    async def _added(self, name: str, items: list[Any], begin: int | None = None) -> list[Added]:
        more = {} if begin is None else {"from": begin}
        asked = {"agent": name, "items": items, "format": FORMAT, "create": begin is None, **more}
        reply = await self.peer.call("add", asked)
        return [Added(seq, item) for seq, item in zip(reply["seqs"], items, strict=True)]

    async def _items(self, name: str, **window: int) -> list[Added]:
        page = await self.peer.call("messages", {"agent": name, "format": FORMAT, **window})
        return [Added(found["seq"], parse(found["item_json"])) for found in page["items"]]


@pytest.mark.parametrize("seed", range(PROGRAMS))
async def test_items_are_those_of_a_naive_model(connect: Connect, seed: int) -> None:
    """Undo, replacement, clones and eviction take items along as a whole, in whatever order they come."""
    program = Program(connect(), random.Random(seed))
    for _ in range(STEPS):
        await program.step()
