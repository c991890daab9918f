"""One command on several agents: all of it, or nothing."""

import json
import random
from typing import Any

import anyio
import pytest

import reel
from reel.base.errors import Conflict, Exists, InvalidMessage, InvalidParams, Killed, NotFound, ReelError, Storage
from reeld.serving.call import Services
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Connect, Peer, texts
from tests.reeld.store.making import distrust_disk, trust_disk

CALL = {"role": "assistant", "content": [{"type": "tool_call", "id": "a call", "name": "f", "arguments": "{}"}]}
ITEM = {"role": "user", "content": [{"type": "text", "text": "an item"}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a call", "content": "done"}]}


@pytest.fixture(autouse=True, params=[False, True], ids=["awaited", "at once"])
def _at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """References are looked up in a thread, or in the event loop."""
    (trust_disk if request.param else distrust_disk)(monkeypatch)


def add(agent: str, *messages: Any, **more: Any) -> dict[str, Any]:
    """Return a part that adds messages."""
    return {"method": "add", "agent": agent, "messages": list(messages), **more}


async def prepare(connect: Connect) -> Peer:
    """Return a client of a daemon with the agents a, b and a killed one; errors come with their data."""
    peer = connect()
    await peer.call("hello", {"errors": "map"})
    for name in ("a", "b", "killed"):
        await peer.call("create", name)
        await peer.call("add", name, ["one", "two"])
    await peer.call("kill", "killed")
    return peer


async def everything(peer: Peer) -> list[Any]:
    """Return all agents, and the log of each."""
    agents = (await peer.call("agents"))["agents"]
    return [agents, [await peer.call("history", agent["id"]) for agent in agents]]


async def test_parts_of_several_agents(connect: Connect) -> None:
    """Each part has a result; what is added to an agent is one command, which one undo takes back there."""
    peer = await prepare(connect)
    parts = [
        add("a", "three"),
        {"method": "change", "agent": "b", "title": "B", "tags": {"k": "v"}},
        add("a", CALL),
        {"method": "add", "agent": "a", "items": [RESULT, ITEM], "format": "anthropic", "model": "m"},
    ]
    reply = await peer.call("commit", parts)

    first, changed, called, items = reply["results"]
    assert (4, 4, 4) == (first["first"], first["command"], first["head"])
    assert (4, 4) == (changed["command"], changed["head"])
    assert (5, 4, 5) == (called["first"], called["command"], called["head"])
    assert ([6, 7], 4, 7) == (items["seqs"], items["command"], items["head"])
    assert (first["agent"], 7, 4) == (reply["agent"], reply["head"], reply["command"])
    assert {"title": "B", "tags": {"k": "v"}}.items() <= (await peer.call("agent", "b")).items()
    assert [] == (await peer.call("agent", "a"))["open_calls"]
    await peer.call("undo", "a")
    assert ["one", "two"] == await texts(peer, "a")
    assert [] == (await peer.call("verify"))["problems"]


async def test_commands_of_one_agent(connect: Connect) -> None:
    """A new agent's first state, a change and what is added are commands of their own, as if they were alone."""
    peer = await prepare(connect)
    parts = [
        {"method": "create", "agent": "new", "system": "be brief"},
        add("new", "one"),
        add("new", "two"),
        {"method": "change", "agent": "new", "title": "N"},
        add("new", "three"),
    ]
    results = (await peer.call("commit", parts))["results"]

    assert [1, 3, 3, 5, 6] == [result["command"] for result in results]
    await peer.call("undo", "new")
    await peer.call("undo", "new")
    assert {"system": "be brief", "messages": 0}.items() <= (await peer.call("agent", "new")).items()


async def test_agents_are_made(connect: Connect) -> None:
    """A part makes an agent, with what later parts add to it; a name is left out, or that of a dead agent."""
    peer = await prepare(connect)
    parts = [
        {"method": "create", "agent": "new", "system": "be brief", "title": "N"},
        add("new", "hi", {"kind": "note", "content": "noted"}),
        add("other", "hello", create=True, tags={"k": "v"}, if_seq=0),
        add("other", "again", create=True),
        add("killed", "reborn", create=True),
        {"method": "create"},
        {"method": "change", "agent": "new", "name": "newer"},
    ]
    results = (await peer.call("commit", parts))["results"]

    assert ["new", 2, 4, 2, 3, 2, 5] == [
        results[0]["name"],
        results[0]["head"],
        *(result["head"] for result in results[1:5]),
        results[6]["head"],
    ]
    assert 5 == len(results[5]["name"])
    assert ["hi"] == await texts(peer, "newer")
    assert ["hello", "again"] == await texts(peer, "other")
    assert {"tags": {"k": "v"}, "alive": True}.items() <= (await peer.call("agent", "other")).items()
    assert ["reborn"] == await texts(peer, "killed")
    assert [] == (await peer.call("verify"))["problems"]


REFUSED: list[tuple[Any, type[ReelError], str]] = [
    (add("nobody", "x"), NotFound, "no agent nobody"),
    (add("killed", "x"), Killed, "is killed"),
    (add("a", "x", if_seq=2), Conflict, "at #3, not at #2"),
    (add("a", "x", if_seq=4), Conflict, "at #3, not at #4"),
    (add("new", "x", create=True, if_seq=1), Conflict, "at #0, not at #1"),
    (add("a", {"role": "nobody", "content": ""}), InvalidMessage, r"messages\[0\].role"),
    (add("a"), InvalidParams, "at least one message"),
    (add("a", "x", tags={"k": "v"}), InvalidParams, "only a new agent gets them"),
    (add("no name", "x", create=True), InvalidParams, "agent: a name is"),
    (add("a", "x", **{"from": 2}), InvalidParams, "only the first part of an agent may replace"),
    (add("a", "x", if_stands=2), InvalidParams, "only the first part of an agent may have it"),
    (add("b", "x", **{"from": 1}), InvalidParams, "1 is not in the current conversation"),
    (add("new", "x", create=True, **{"from": 1}), NotFound, "no message 1 to replace"),
    (add("a", {"role": "user", "content": "x", "ref": "r"}), InvalidMessage, "a part before has 'r' already"),
    (add("a", "x", key="k"), InvalidParams, "a part has none; give one for all"),
    (add("a", "x", nonsense=1), InvalidParams, "unknown parameter 'nonsense'"),
    ({"method": "add", "agent": "a", "items": [1], "format": "anthropic"}, InvalidMessage, "items"),
    ({"method": "create", "agent": "a"}, Exists, "agent a exists already"),
    ({"method": "create", "agent": "made"}, Exists, "agent made exists already"),
    ({"method": "change", "agent": "a", "name": "b"}, Exists, "agent b exists already"),
    ({"method": "change", "agent": "a", "name": "made"}, Exists, "agent made exists already"),
    ({"method": "change", "agent": "a"}, InvalidParams, "needs a name"),
    ({"method": "undo", "agent": "a"}, InvalidParams, "method: expected add, create, change or append, got 'undo'"),
    ({"method": ["add"], "agent": "a"}, InvalidParams, "method: expected add"),
    ({"agent": "a"}, InvalidParams, "method: expected add"),
    ("add", InvalidParams, "expected a map"),
]


@pytest.mark.parametrize(("part", "error", "why"), REFUSED)
async def test_a_part_is_refused(connect: Connect, part: Any, error: type[ReelError], why: str) -> None:
    """If a part is refused, the error has its number, nothing is written, and all agents go on."""
    peer = await prepare(connect)
    before = await everything(peer)
    good = [
        add("a", {"role": "user", "content": "x", "ref": "r"}),
        add("b", "x", **{"from": 2}),
        add("made", "x", create=True),
    ]
    beside = good if part not in [each[0] for each in REFUSED if each[2].startswith("1 is not")] else good[:1]
    with pytest.raises(error, match=rf"parts\[{len(beside)}\]: .*{why}") as refused:
        await peer.call("commit", [*beside, part])

    assert len(beside) == refused.value.data["part"]
    assert before == await everything(peer)
    await peer.call("commit", good)
    assert ["one", "two", "x"] == await texts(peer, "a")


@pytest.mark.parametrize("parts", [[], [add("a", "x")] * 101, {"method": "add"}, "x", None])
async def test_no_list_of_parts(connect: Connect, parts: Any) -> None:
    """Anything but a list of 1 to 100 parts is refused."""
    peer = await prepare(connect)
    with pytest.raises(InvalidParams, match="parts"):
        await peer.call("commit", {"parts": parts})


async def test_done_once_under_a_key(connect: Connect) -> None:
    """Under its key a command is done once, also if an agent was renamed; other parts are a conflict."""
    peer = await prepare(connect)
    parts = [add("a", "x"), {"method": "change", "agent": "b", "name": "c"}, add("new", "y", create=True)]
    first = await peer.call("commit", {"parts": parts, "key": "k"})

    assert {**first, "repeated": True} == await peer.call("commit", {"parts": parts, "key": "k"})
    with pytest.raises(Conflict, match="the key k was used for another command, of the agent a"):
        await peer.call("commit", {"parts": parts[:1], "key": "k"})
    with pytest.raises(Conflict):
        await peer.call("add", "a", ["x"], {"key": "k"})
    assert ["one", "two", "x"] == await texts(peer, "a")
    assert [] == (await peer.call("verify"))["problems"]


async def test_known_messages_alone(connect: Connect) -> None:
    """What an agent has already is left out; if nothing is left, nothing is written, and the key is not used up."""
    peer = await prepare(connect)
    message = {"role": "user", "content": "x", "ref": "r"}
    first = await peer.call("commit", {"parts": [add("a", message), add("b", message)], "key": "k"})
    again = await peer.call("commit", [add("a", message), add("b", message, "new")])
    nothing = await peer.call("commit", {"parts": [add("a", message), add("b", message)], "key": "other"})

    assert [[4], [4]] == [[result["first"]] for result in first["results"]]
    assert [[{"index": 0, "seq": 4}]] * 2 == [result["known"] for result in again["results"]]
    assert again["results"][1]["agent"] == again["agent"]
    assert "command" not in again["results"][0]
    assert (False, False) == ("command" in nothing, "time" in nothing)
    assert {**first, "repeated": True} == await peer.call(
        "commit", {"parts": [add("a", message), add("b", message)], "key": "k"}
    )


async def test_adds_to_one_agent_that_arrive_together(connect: Connect, services: Services) -> None:
    """They share a commit, with other adds; what one of them has added is known to the next."""
    peer = await prepare(connect)
    x, y, z = ({"role": "user", "content": ref, "ref": ref} for ref in "xyz")
    before = services.store.writer.commits
    outcomes: list[Any] = await peer.ask(
        ("commit", [add("a", "three"), add("a", "four")]),
        ("add", "a", "five"),
        ("commit", [add("a", "six")]),
    )
    assert before + 1 == services.store.writer.commits
    assert [4, 6, 7] == [reply["command"] for reply in outcomes]
    assert [(4, 4), (4, 5)] == [(result["command"], result["first"]) for result in outcomes[0]["results"]]

    known: list[Any] = await peer.ask(
        ("commit", [add("a", x, y), add("a", "eight")]), ("commit", [add("a", x, z)]), ("add", "a", [y, z])
    )
    first, again, more = known
    assert [(8, 8), (8, 10)] == [(result["command"], result["first"]) for result in first["results"]]
    assert [{"index": 0, "seq": 8}] == again["results"][0]["known"]
    assert [{"index": 0, "seq": 9}, {"index": 1, "seq": 11}] == more["known"]
    said = ["one", "two", "three", "four", "five", "six", "x", "y", "eight", "z"]
    keyed = {"parts": [add("a", {**x, "ref": "w"}), add("a", "nine")], "key": "k"}
    assert {**await peer.call("commit", keyed), "repeated": True} == await peer.call("commit", keyed)
    await peer.call("undo", "a")
    assert said == await texts(peer, "a")
    for _ in range(5):
        await peer.call("undo", "a")
    assert ["one", "two"] == await texts(peer, "a")
    assert [] == (await peer.call("verify"))["problems"]


async def test_many_adds_with_references(connect: Connect, services: Services, request: pytest.FixtureRequest) -> None:
    """Only so many are looked for before others have their turn: the rest is the next transaction."""
    peer = await prepare(connect)
    before = services.store.writer.commits
    messages = [{"role": "user", "content": "x", "ref": f"r{number}"} for number in range(80)]
    await peer.ask(*(("add", "a", [message]) for message in messages))
    commits = services.store.writer.commits - before
    assert {"awaited": 80, "at once": 2}[request.node.callspec.id] == commits
    known: list[Any] = await peer.ask(*(("add", "a", [message]) for message in messages))
    assert [1] * 80 == [len(reply["known"]) for reply in known]
    assert services.store.writer.commits == before + commits


async def test_values_that_are_expected(connect: Connect, services: Services, request: pytest.FixtureRequest) -> None:
    """Adds to one agent that replace values share a commit; each expects what the one before it has set."""
    peer = await prepare(connect)
    await peer.call("add", "a", [reel.state("old", 1)])
    before = services.store.writer.commits
    outcomes: list[Any] = await peer.ask(
        ("add", "a", ["five", reel.state("k", 1, 0), reel.state("old", 2, 4)]),
        ("commit", [add("a", reel.state("k", 2, 6)), add("a", "nine")]),
        ("add", "a", [reel.no_state("k", 8)]),
        ("add", "a", [reel.state("k", 3, 0)]),
    )
    commits = services.store.writer.commits - before
    assert {"awaited": 4, "at once": 1}[request.node.callspec.id] == commits
    assert [5, 8, 10, 11] == [reply["command"] for reply in outcomes]

    refused: list[Any] = await peer.ask(
        ("add", "a", ["no", reel.state("k", 4, 8)]),
        ("add", "a", ["twelve", reel.state("k", 5, 11)]),
        ("commit", [add("a", reel.state("k", 6, 11)), add("a", "no")]),
        ("commit", [add("a", "no"), add("a", reel.state("k", 6, 11))]),
        ("commit", [add("killed", reel.state("k", 6, 0)), add("killed", "no")]),
        ("add", "killed", [reel.state("k", 6, 1)]),
        ("add", "a", ["fourteen", reel.state("k", 7, 13)]),
    )
    errors = [type(outcome) for outcome in refused if isinstance(outcome, ReelError)]
    assert [Conflict, Conflict, Conflict, Killed, Killed] == errors
    assert [11, 13, 13] == [outcome.data["seq"] for outcome in refused if isinstance(outcome, Conflict)]
    assert [0, 1, 0] == [outcome.data["part"] for outcome in refused[2:5]]
    values = (await peer.call("state", "a"))["values"]
    assert {"k": (15, 7), "old": (7, 2)} == {
        each["key"]: (each["seq"], json.loads(each["data_json"])["value"]) for each in values
    }
    assert ["one", "two", "five", "nine", "twelve", "fourteen"] == await texts(peer, "a")


async def test_many_values_that_are_expected(
    connect: Connect, services: Services, request: pytest.FixtureRequest
) -> None:
    """Only so many are looked for before others have their turn."""
    peer = await prepare(connect)
    before = services.store.writer.commits
    await peer.ask(*(("add", "a", [reel.state(f"k{number}", number, 0)]) for number in range(80)))
    commits = services.store.writer.commits - before
    assert {"awaited": 80, "at once": 2}[request.node.callspec.id] == commits


async def test_an_add_to_one_agent_that_is_refused(connect: Connect) -> None:
    """One that expects another head says which part does, and those around it are written."""
    peer = await prepare(connect)
    outcomes: list[Any] = await peer.ask(
        ("commit", [add("a", "three", if_seq=3), add("a", "four", if_seq=3)]),
        ("commit", [add("a", "no"), add("a", "no", if_seq=3)]),
        ("commit", [add("killed", "no")]),
        ("commit", [add("a", "five", if_seq=5)]),
    )

    before, refused, dead, after = outcomes
    assert [4, 6] == [before["command"], after["command"]]
    assert (Conflict, 1) == (type(refused), refused.data["part"])
    assert (Killed, 0) == (type(dead), dead.data["part"])
    assert ["one", "two", "three", "four", "five"] == await texts(peer, "a")


async def test_replacing_in_several_agents(connect: Connect) -> None:
    """The first part of an agent may replace messages; those of later parts follow."""
    peer = await prepare(connect)
    reply = await peer.call("commit", [add("a", "other", **{"from": 2}), add("a", "more"), add("b", **{"from": 3})])

    assert [(2, 3), (1, 3)] == [(reply["results"][n]["dropped"], reply["results"][n]["was"]) for n in (0, 2)]
    assert ["other", "more"] == await texts(peer, "a")
    assert ["one"] == await texts(peer, "b")
    await peer.call("undo", "a")
    assert ["one", "two"] == await texts(peer, "a")


async def test_followers_see_the_events_of_all_agents(connect: Connect) -> None:
    """Events are pushed in the order of their ids, before the reply; a draft of the connection ends."""
    peer, other = await prepare(connect), connect()
    await peer.call("subscribe")
    await other.call("draft", "a", "typing")
    await peer.pushed()
    await other.call("commit", [add("b", "x"), add("a", "y"), add("b", "z"), add("new", "n", create=True)])
    pushes = await peer.pushed()

    assert ["x", "z", "y", "n"] == [
        said["message"]["content"][0]["text"] for name, said in pushes if name == "event" and "message" in said
    ]
    ids = [said["id"] for name, said in pushes if name == "event"]
    assert ids == sorted(ids)
    assert [""] == [said["text"] for name, said in pushes if name == "draft"]


async def test_many_at_once(connect: Connect) -> None:
    """Commands on the same agents, in any order, beside cascades and clones, all come to an end."""
    names = ["a", "b", "c", "d"]
    peer = connect()
    await peer.call("create", "a")
    await peer.call("clone", "a", "b")
    chance = random.Random(1)
    orders = [chance.sample(names, k=4) for _ in range(24)]

    async def commit(number: int, order: list[str]) -> None:
        one = connect()
        parts = [add(name, f"{number}", create=True) for name in order]
        calls: list[tuple[Any, ...]] = [("commit", parts), ("add", order[0], ["alone"])]
        if not number % 4:
            calls.append(("clone", "a", {"into": "b"}))
        for outcome in await one.ask(*calls):
            assert not isinstance(outcome, ReelError)

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            for number, order in enumerate(orders):
                tasks.start_soon(commit, number, order)

    expected = {str(number) for number in range(24)}
    for name in ("a", "c", "d"):
        found = [text for text in await texts(peer, name) if text != "alone"]
        assert (expected, 24) == (set(found), len(found))
    assert [] == (await peer.call("verify"))["problems"]


async def test_a_transaction_that_fails(connect: Connect, services: Services) -> None:
    """If the disk refuses it, every agent is what it was, and goes on once the disk takes it."""
    peer = await prepare(connect)
    before = await everything(peer)
    parts = [add("a", "x"), add("b", "y"), add("new", "z", create=True)]
    run = services.store._database.run
    await run(lambda connection: connection.execute("PRAGMA query_only = ON").fetchall())
    with pytest.raises(Storage):
        await peer.call("commit", parts)
    await run(lambda connection: connection.execute("PRAGMA query_only = OFF").fetchall())

    assert before == await everything(peer)
    await peer.call("commit", parts)
    assert [["one", "two", "x"], ["one", "two", "y"], ["z"]] == [await texts(peer, name) for name in ("a", "b", "new")]


async def test_what_was_said_is_not_stored_with_the_key(connect: Connect, services: Services) -> None:
    """The reply that a key keeps has no words: what is redacted in one agent is not in the key of another."""
    peer = await prepare(connect)
    parts = [add("a", "x"), {"method": "change", "agent": "b", "title": "secret"}, add("b", CALL)]
    await peer.call("commit", {"parts": parts, "key": "k"})
    (reply,) = await services.store._database.run(
        lambda connection: connection.execute("SELECT reply FROM keys").fetchone()
    )

    assert not [word for word in (b"secret", b"a call") if word in reply]


async def test_characters_that_are_replaced(connect: Connect) -> None:
    """A result says how many characters of its part were replaced."""
    peer = await prepare(connect)
    parts = [add("a", "x\x00"), {"method": "change", "agent": "b", "title": "\x00\x00"}, add("b", "y")]
    results = (await peer.call("commit", parts))["results"]

    assert [1, 2, None] == [result.get("replaced") for result in results]


class Program:
    """Random commands on several agents, given to a daemon and to a naive model: a list of texts for each agent."""

    def __init__(self, peer: Peer, chance: random.Random) -> None:
        self.peer = peer
        self.chance = chance
        self.model: dict[str, list[str]] = {}
        self.titles: dict[str, str | None] = {}
        self.undone: dict[str, list[list[str]]] = {}

    async def step(self, number: int) -> None:
        """Carry out a command; if the model refuses a part of it, the daemon refuses that one."""
        parts = [self._part(f"{number}.{place}") for place in range(self.chance.randint(1, 5))]
        model, titles = {name: [*said] for name, said in self.model.items()}, dict(self.titles)
        refused = next((place for place, part in enumerate(parts) if not self._do(part, model, titles)), None)
        (outcome,) = await self.peer.ask(("commit", parts))
        if refused is not None:
            assert isinstance(outcome, ReelError)
            assert refused == outcome.data["part"]
            return
        assert isinstance(outcome, dict), outcome
        for name, said in model.items():
            if said != self.model.get(name, []):
                self.undone.setdefault(name, []).append(self.model.get(name, []))
        self.model, self.titles = model, titles

    async def undo(self) -> None:
        """Undo a command in one of its agents; it stays in the others."""
        names = [name for name, states in self.undone.items() if states]
        if names:
            name = self.chance.choice(names)
            await self.peer.call("undo", name)
            self.model[name] = self.undone[name].pop()

    def _part(self, text: str) -> dict[str, Any]:
        name = self.chance.choice("abcdef")
        match self.chance.randrange(8):
            case 0:
                return {"method": "create", "agent": name, "title": text}
            case 1:
                return {"method": "change", "agent": name, "title": text}
        part = add(name, *[f"{text}.{n}" for n in range(self.chance.randint(1, 3))])
        return part if self.chance.random() < 0.3 else {**part, "create": True}

    @staticmethod
    def _do(part: dict[str, Any], model: dict[str, list[str]], titles: dict[str, str | None]) -> bool:
        name = part["agent"]
        if part["method"] == "create":
            if name in model:
                return False
            model[name] = []
        elif name not in model:
            if not part.get("create"):
                return False
            model[name] = []
        if "title" in part:
            titles[name] = part["title"]
        model[name] += part.get("messages", [])
        return True

    async def check(self) -> None:
        """Compare every agent, what is stored, and what a replay finds."""
        agents = (await self.peer.call("agents"))["agents"]
        assert sorted(self.model) == sorted(agent["name"] for agent in agents)
        for agent in agents:
            assert self.titles.get(agent["name"]) == agent["title"]
            assert self.model[agent["name"]] == await texts(self.peer, agent["name"])
            assert (await self.peer.call("replay", agent["name"]))["matched"]
        assert [] == (await self.peer.call("verify"))["problems"]


@pytest.mark.parametrize("seed", range(3))
async def test_agents_are_those_of_a_naive_model(connect: Connect, seed: int) -> None:
    """A random command changes all of its agents as the model says, or none."""
    peer = connect()
    await peer.call("hello", {"errors": "map"})
    program = Program(peer, random.Random(seed))
    for number in range(30):
        await program.step(number)
        if not number % 3:
            await program.undo()
        if not number % 10:
            await program.check()
    await program.check()
