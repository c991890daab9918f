"""An agent's task: mail is handled in order, writes are grouped, and a failure affects its own command only."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from reel.base.errors import Busy, Conflict, Internal, InvalidParams, ReelError, Storage
from reeld.agents import agent as agent_module
from reeld.agents.agent import Agent
from reeld.agents.asking import ask
from reeld.agents.idempotency import CommandOptions
from reeld.agents.jobs import Exclusive, Read, Write
from reeld.core import commands
from reeld.core.stage import Reply, Stage
from reeld.core.state import State
from reeld.core.validation import rows_from
from reeld.store import queries
from reeld.store.commit_faults import CommitInDoubt, DivergedError, OvertakenError
from tests.reeld.agents.conftest import Open
from tests.reeld.agents.direct_client import DirectClient, read_only, shown


class Answers:
    """Collects outcomes in order, and signals when there are enough."""

    def __init__(self, wanted: int) -> None:
        self.got: list[Any] = []
        self._wanted = wanted
        self._complete = anyio.Event()

    def take(self, outcome: Any) -> None:
        self.got.append(outcome)
        if len(self.got) == self._wanted:
            self._complete.set()

    async def all(self) -> list[Any]:
        await self._complete.wait()
        return self.got

    async def kinds(self) -> list[Any]:
        """Return the heads of replies and the classes of errors."""
        return [type(got) if isinstance(got, ReelError) else got["head"] for got in await self.all()]


@pytest.fixture
async def agent(client: DirectClient) -> Agent:
    """A live agent."""
    await client.create("a")
    await client.state("a")
    return await client.registry.find("a")


def fail_with(error: Exception) -> Callable[[Any], Any]:
    """Return a stage, look or turn that fails."""

    def fail(_: Any) -> Any:
        raise error

    return fail


def put_blindly(stage: Stage) -> Reply:
    """Add without looking at the state."""
    rows, _ = rows_from("blind")
    return commands.add(stage, rows)


# --- runs


async def test_writes_that_wait_are_one_commit(client: DirectClient, agent: Agent) -> None:
    """Writes that wait together become one commit, and each reply has the head after its own write."""
    commits, answers = client.store.writer.commits, Answers(50)
    for number in range(50):
        client.post(agent, str(number), answer=answers.take)
    client.registry.pump()

    assert list(range(2, 52)) == await answers.kinds()
    assert commits + 1 == client.store.writer.commits
    assert (await client.replay("a")).matched


async def test_what_is_posted_in_a_batch_is_one_commit(client: DirectClient, agent: Agent) -> None:
    """Writes of a batch, of whatever connections, are one commit at its end; nobody pumps."""
    commits, answers = client.store.writer.commits, Answers(3)
    with client.store.poller.batch:
        for number in range(3):
            with client.store.poller.batch:  # as one connection has it inside of a turn of the poller's
                client.post(agent, str(number), answer=answers.take)
        assert 3 == agent.waiting

    assert [2, 3, 4] == await answers.kinds()
    assert commits + 1 == client.store.writer.commits


async def test_writes_during_a_commit_are_the_next_one(client: DirectClient, agent: Agent) -> None:
    """Writes that arrive during a commit are grouped into the next one, and build on the first."""
    commits, answers = client.store.writer.commits, Answers(21)
    client.post(agent, "first", answer=answers.take)
    client.registry.pump()
    for number in range(20):
        client.post(agent, str(number), answer=answers.take)
        client.registry.pump()

    assert list(range(2, 23)) == await answers.kinds()
    assert commits + 2 == client.store.writer.commits


async def test_writes_of_many_agents_are_one_transaction(client: DirectClient) -> None:
    """Agents do not wait for each other's commits."""
    agents = []
    for name in "abcdef":
        await client.create(name)
        await client.state(name)
        agents.append(await client.registry.find(name))
    commits, answers = client.store.writer.commits, Answers(6)
    for one in agents:
        client.post(one, "hi", answer=answers.take)
    client.registry.pump()

    assert 6 * [2] == await answers.kinds()
    assert commits + 1 == client.store.writer.commits


async def test_a_long_run_is_cut(client: DirectClient, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is cut at a limit, so the first callers are answered before all of it is written."""
    monkeypatch.setattr(agent_module, "_MAX_RUN", 4)
    commits, answers = client.store.writer.commits, Answers(10)
    for number in range(10):
        client.post(agent, str(number), answer=answers.take)
    client.registry.pump()

    assert list(range(2, 12)) == await answers.kinds()
    assert commits + 3 == client.store.writer.commits


async def test_a_look_sees_what_was_asked_for_before_it(client: DirectClient, agent: Agent) -> None:
    """A read ends the run and sees committed state."""
    answers = Answers(4)
    client.post(agent, "one", answer=answers.take)
    agent.post(Read(lambda state: {"head": shown(state.conversation)}, answers.take))
    client.post(agent, "two", answer=answers.take)
    agent.post(Read(lambda state: {"head": shown(state.conversation)}, answers.take))
    client.registry.pump()

    assert [2, ["one"], 3, ["one", "two"]] == await answers.kinds()


async def test_if_seq_holds_within_a_run(client: DirectClient, agent: Agent) -> None:
    """Of two writes that expect the same head one succeeds; the other gets the new head, and the next goes on."""
    answers = Answers(4)
    for text, if_seq in (("wins", 1), ("loses", 1), ("knows", 2), ("any", None)):
        client.post(agent, text, if_seq=if_seq, answer=answers.take)
    client.registry.pump()
    kinds = await answers.kinds()

    assert sorted([2, Conflict, 3, 4], key=str) == sorted(kinds, key=str)
    assert ["wins", "knows", "any"] == await client.texts("a")
    assert [{"head": 2}] == [got.data for got in answers.got if isinstance(got, Conflict)]


async def test_a_full_mailbox(client: DirectClient, agent: Agent) -> None:
    """A full mailbox refuses the next job and serves those it has."""
    agent._room = 3
    answers = Answers(3)
    for _ in range(3):
        client.post(agent, "x", answer=answers.take)
    with pytest.raises(Busy):
        client.post(agent, "x", answer=answers.take)
    client.registry.pump()

    assert [2, 3, 4] == await answers.kinds()


# --- failing commits


@pytest.mark.parametrize("guilty", [0, 1, 4])
async def test_only_the_faulty_command_of_a_run_fails(client: DirectClient, agent: Agent, guilty: int) -> None:
    """If a commit fails, its commands are tried one by one, and only the faulty one fails."""
    await client.store._database.run(lambda connection: connection.execute("PRAGMA max_page_count = 200").fetchall())
    answers = Answers(5)
    for number in range(5):
        client.post(agent, "x" * 900_000 if number == guilty else str(number), answer=answers.take)
    client.registry.pump()
    expected: list[Any] = [2, 3, 4, 5]
    expected.insert(guilty, Storage)

    assert expected == await answers.kinds()
    assert [str(number) for number in range(5) if number != guilty] == await client.texts("a")
    assert (await client.replay("a")).matched


async def test_nothing_is_refused_for_what_was_not_written(client: DirectClient, agent: Agent) -> None:
    """A command that expects the head before another one's succeeds if that other one could not be written."""
    await client.store._database.run(lambda connection: connection.execute("PRAGMA max_page_count = 200").fetchall())
    answers = Answers(2)
    client.post(agent, "x" * 900_000, if_seq=1, answer=answers.take)
    client.post(agent, "two", if_seq=1, answer=answers.take)
    client.registry.pump()

    assert [Storage, 2] == await answers.kinds()
    assert ["two"] == await client.texts("a")


async def test_after_a_failure_writes_are_grouped_again(client: DirectClient, agent: Agent) -> None:
    """Only the commands that failed together are tried one by one; later writes are grouped again."""
    await client.store._database.run(lambda connection: connection.execute("PRAGMA max_page_count = 200").fetchall())
    answers = Answers(3)
    for text in ("one", "x" * 900_000, "two"):
        client.post(agent, text, answer=answers.take)
    client.registry.pump()
    assert [2, Storage, 3] == await answers.kinds()
    commits, answers = client.store.writer.commits, Answers(3)
    for _ in range(3):
        client.post(agent, "x", answer=answers.take)
    client.registry.pump()

    assert [4, 5, 6] == await answers.kinds()
    assert commits + 1 == client.store.writer.commits


COMMANDS: list[Callable[[DirectClient], Any]] = [
    lambda client: client.add("a", "x"),
    lambda client: client.mark("a"),
    lambda client: client.clear("a"),
    lambda client: client.rewind("a"),
    lambda client: client.restore("a", 0),
    lambda client: client.undo("a"),
    lambda client: client.change("a", "other"),
    lambda client: client.kill("a"),
    lambda client: client.clone("a", "other"),
    lambda client: client.clone_into("b", "a"),
]


@pytest.mark.parametrize("act", COMMANDS)
async def test_a_commit_that_fails_changes_nothing(client: DirectClient, act: Callable[[DirectClient], Any]) -> None:
    """After a failed commit the caller gets the error, the state is unchanged, and the command works later."""
    await client.add("b", "other", create=True)
    await client.create("a", "p")
    await client.mark("a")
    await client.add("a", "one")
    before = (await client.state("a")).profile, await client.texts("a")
    await read_only(client, True)
    with pytest.raises(Storage, match="nothing was written"):
        await act(client)
    assert before == ((await client.state("a")).profile, await client.texts("a"))
    assert (await client.replay("a")).matched
    await read_only(client, False)

    await act(client)
    assert (await client.replay((await client.state("b")).profile.uid)).matched


# --- bugs


async def test_a_stage_with_a_bug(client: DirectClient, agent: Agent, caplog: pytest.LogCaptureFixture) -> None:
    """A bug in a stage is ``internal`` for all who wait, writes nothing, and the next use loads the agent again."""
    answers = Answers(3)
    client.post(agent, "one", answer=answers.take)
    agent.post(Write(fail_with(ZeroDivisionError()), CommandOptions(), answers.take))
    client.post(agent, "two", answer=answers.take)
    client.registry.pump()

    assert 3 * [Internal] == await answers.kinds()
    assert [] == await client.texts("a")
    assert agent is not await client.registry.find("a")
    assert 1 == client.registry.failed
    assert any("its state is dropped and will be read from the log" in text for text in caplog.messages)


async def test_a_stage_without_memory(client: DirectClient, agent: Agent) -> None:
    """Only the command is refused for which there is not enough memory; the agent and what it has stay."""
    answers = Answers(4)
    client.post(agent, "one", answer=answers.take)
    agent.post(Write(fail_with(MemoryError()), CommandOptions(), answers.take))
    agent.post(Read(fail_with(MemoryError()), answers.take))
    client.post(agent, "two", answer=answers.take)
    client.registry.pump()

    assert [2, 3] == [got for got in await answers.kinds() if got is not Busy]
    assert 2 == (await answers.kinds()).count(Busy)
    assert ["one", "two"] == await client.texts("a")
    assert (agent, 0) == (await client.registry.find("a"), client.registry.failed)


async def test_a_commit_without_memory(client: DirectClient, agent: Agent) -> None:
    """Only the command is refused for which the database has not enough memory; the writer goes on."""

    def run_out(_: str) -> None:
        raise MemoryError

    def break_it(connection: Any) -> None:
        connection.create_function("run_out", 1, run_out)
        connection.execute(
            "CREATE TEMP TRIGGER hungry BEFORE INSERT ON events WHEN NEW.content = 'large'"
            " BEGIN SELECT run_out(NEW.content); END"
        )

    await client.store._database.run(break_it)
    answers = Answers(3)
    for text in ("one", "large", "two"):
        client.post(agent, text, answer=answers.take)
    client.registry.pump()

    assert [2, Storage, 3] == await answers.kinds()
    assert "nothing was written: there is not enough memory" == answers.got[1].message
    assert ["one", "two"] == await client.texts("a")
    assert (await client.replay("a")).matched


async def test_a_look_with_a_bug(client: DirectClient, agent: Agent) -> None:
    """A bug in a look drops the agent, and those behind it get ``internal``."""
    answers = Answers(2)
    agent.post(Read(fail_with(ZeroDivisionError()), answers.take))
    client.post(agent, "one", answer=answers.take)
    client.registry.pump()

    assert 2 * [Internal] == await answers.kinds()
    assert [] == await client.texts("a")


async def test_a_turn_with_a_bug(client: DirectClient, agent: Agent) -> None:
    """A bug in a turn drops the agent as well."""
    answers = Answers(2)
    agent.post(Exclusive(fail_with(ZeroDivisionError()), answers.take))
    client.post(agent, "one", answer=answers.take)
    client.registry.pump()

    assert 2 * [Internal] == await answers.kinds()
    assert [] == await client.texts("a")


@pytest.mark.parametrize("mail", [Read, Exclusive])
async def test_a_refusal_is_not_a_bug(client: DirectClient, agent: Agent, mail: Any) -> None:
    """An error of the protocol goes to its caller, and the agent goes on."""
    with pytest.raises(InvalidParams):
        await ask(client.registry, agent, lambda answer: mail(fail_with(InvalidParams("no")), answer))

    assert agent is await client.registry.find("a")


async def test_applying_with_a_bug(client: DirectClient, agent: Agent) -> None:
    """A commit that cannot be applied stays in the log; its caller hears that, and whoever waits gets ``internal``."""
    answers = Answers(2)
    client.post(agent, "one", answer=answers.take)
    client.registry.pump()
    agent.committed.conversation.entries = None  # type: ignore[assignment]
    client.post(agent, "two", answer=answers.take)

    assert [CommitInDoubt, Internal] == await answers.kinds()
    assert ["one"] == await client.texts("a")


async def test_a_turn_whose_state_cannot_be_gone_on_with(client: DirectClient, agent: Agent) -> None:
    """A committed clear that cannot be applied stays in the log, and its caller gets ``internal``."""
    await client.add("a", "one")
    agent.committed.conversation._answered = None  # type: ignore[assignment]
    agent.committed.conversation.marks = None  # type: ignore[assignment]
    with pytest.raises(Internal):
        await client.clear("a")

    assert (await client.replay("a")).matched


@pytest.mark.parametrize("act", [lambda client: client.add("a", "two", "three"), lambda client: client.clear("a")])
async def test_a_state_that_is_behind_its_log(
    client: DirectClient, agent: Agent, act: Callable[[DirectClient], Awaitable[Any]], caplog: pytest.LogCaptureFixture
) -> None:
    """A command on a stale state is ``internal``, writes nothing and is logged; the next use reads the log."""
    await client.add("a", "one")
    agent.committed.profile = agent.committed.profile._replace(head=1)
    with pytest.raises(Internal):
        await act(client)
    assert ["one"] == await client.texts("a")
    assert [DivergedError] == [record.exc_info[0] for record in caplog.records if record.exc_info]

    await act(client)
    assert (await client.replay("a")).matched


async def test_a_failing_agent_harms_nobody_else(client: DirectClient, agent: Agent) -> None:
    """If one agent fails to apply its part of a commit, the other agents' commands are written and answered."""
    await client.create("b")
    await client.state("b")
    other = await client.registry.find("b")
    answers, others = Answers(1), Answers(1)
    client.post(agent, "one", answer=answers.take)
    client.post(other, "one", answer=others.take)
    client.registry.pump()
    agent.committed.conversation.entries = None  # type: ignore[assignment]

    assert ([CommitInDoubt], [2]) == (await answers.kinds(), await others.kinds())
    assert other is await client.registry.find("b")


# --- order and time


async def test_a_turn_holds_everything_else(client: DirectClient, agent: Agent) -> None:
    """Jobs that arrive during a turn run after it, in order."""
    answers, gate = Answers(3), anyio.Event()

    async def turn(held: Agent) -> Reply:
        await gate.wait()
        return {"head": held.committed.profile.head}

    agent.post(Exclusive(turn, answers.take))
    client.post(agent, "one", answer=answers.take)
    agent.post(Read(lambda state: {"head": shown(state.conversation)}, answers.take))
    client.registry.pump()
    await anyio.wait_all_tasks_blocked()
    assert [] == answers.got
    gate.set()

    assert [1, 2, ["one"]] == await answers.kinds()


async def test_a_reload_gives_an_equal_state(opened: Open) -> None:
    """After all kinds of commands, the state that is loaded equals the one that was live."""
    async with opened() as client:
        await client.create("a", "p", title="T")
        await client.add("a", "one", {"role": "assistant", "content": [CALL, {**CALL, "id": "c2"}]})
        await client.mark("a", "m")
        await client.add("a", {"role": "tool", "content": [RESULT]}, {"kind": "usage"})
        for act in (client.rewind, client.undo, client.clear, client.undo, client.redo, client.undo):
            await act("a")
        live = await client.state("a")
    async with opened() as client:
        read = await client.state("a")

    assert states_equal(live, read)
    assert ["c2"] == [call.id for call in read.conversation.open_calls]


def states_equal(one: State, other: State) -> bool:
    """Return whether two states have equal profiles and conversations."""
    return one.profile == other.profile and one.conversation == other.conversation


CALL = {"type": "tool_call", "id": "c1", "name": "f", "arguments": "{}"}
RESULT = {"type": "tool_result", "tool_call_id": "c1", "content": "out"}


async def test_a_client_is_named_in_its_events(client: DirectClient, agent: Agent) -> None:
    """Every event names the client that asked for it, each of a run its own."""
    answers = Answers(2)
    for name in ("nvim", None):
        client.registry.post(agent, Write(put_blindly, CommandOptions(client=name), answers.take))
    client.registry.pump()
    await answers.all()

    assert ["test", "nvim", None] == [event["client"] for event in await client.events("a")]


async def test_what_waits_for_an_agent_that_is_overtaken(client: DirectClient) -> None:
    """Whoever reads is answered over the state that is being loaded, however often others write; the rest begin again.

    What waits behind a command that begins again does so as well: it may be of the same connection.
    """
    await client.create("a")
    client.registry.residency.evict_idle(keep=0)
    profile = await client.store.read(queries.find, "a")
    assert profile is not None
    agent, answers, later = client.registry.start(profile), Answers(3), Answers(1)
    client.registry.post(agent, Read(lambda state: {"head": state.profile.head}, answers.take))
    client.post(agent, "hi", answer=answers.take)
    client.registry.post(agent, Read(lambda state: {"head": state.profile.head}, answers.take))
    client.registry.residency.drop(agent)
    agent.overtake()
    client.registry.pump()
    assert [1, OvertakenError, OvertakenError] == await answers.kinds()
    client.registry.post(agent, Read(lambda state: {"head": state.profile.head}, later.take))
    client.registry.pump()

    assert [1] == await later.kinds()
    assert client.registry.get("a") is None
    assert 2 == (await client.add("a", "hi"))["head"]
