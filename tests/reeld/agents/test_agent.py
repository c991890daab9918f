"""An agent's task: mail in order, runs of writes, failures that stay where they happened."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from reel.errors import Busy, Conflict, Internal, InvalidParams, ReelError, Storage
from reeld.agents import agent as agent_module
from reeld.agents.agent import Agent
from reeld.agents.mail import Look, Terms, Turn, Write
from reeld.core import commands
from reeld.core.commands import Reply, Stage
from reeld.core.intake import rows_from
from reeld.core.state import State
from reeld.store.writing import DivergedError
from tests.reeld.agents.conftest import Open
from tests.reeld.agents.deck import Deck, read_only, shown


class Answers:
    """Collects what was answered, in order, and tells when it is enough."""

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
        """The heads of replies, the classes of errors."""
        return [type(got) if isinstance(got, ReelError) else got["head"] for got in await self.all()]


@pytest.fixture
async def agent(deck: Deck) -> Agent:
    """A live agent that has been loaded."""
    await deck.create("a")
    await deck.state("a")
    return await deck.registry.find("a")


def fail_with(error: Exception) -> Callable[[Any], Any]:
    """Make a stage, a look or a turn that fails."""

    def fail(_: Any) -> Any:
        raise error

    return fail


def put_blindly(stage: Stage) -> Reply:
    """Add without looking at the state."""
    rows, _ = rows_from("blind")
    return commands.add(stage, rows)


# --- runs


async def test_writes_that_wait_are_one_unit(deck: Deck, agent: Agent) -> None:
    """They are one commit, and each gets the head as it is after it."""
    commits, answers = deck.store.writer.commits, Answers(50)
    for number in range(50):
        deck.post(agent, str(number), answer=answers.take)
    deck.registry.advance()

    assert list(range(2, 52)) == await answers.kinds()
    assert commits + 1 == deck.store.writer.commits
    assert (await deck.replay("a")).matched


async def test_what_comes_during_a_commit_is_the_next_unit(deck: Deck, agent: Agent) -> None:
    """Writes that arrive while a unit is in flight wait together, and stand on it."""
    commits, answers = deck.store.writer.commits, Answers(21)
    deck.post(agent, "first", answer=answers.take)
    deck.registry.advance()
    for number in range(20):
        deck.post(agent, str(number), answer=answers.take)
        deck.registry.advance()

    assert list(range(2, 23)) == await answers.kinds()
    assert commits + 2 == deck.store.writer.commits


async def test_units_of_many_agents_are_one_transaction(deck: Deck) -> None:
    """Agents do not wait for each other's commits."""
    agents = []
    for name in "abcdef":
        await deck.create(name)
        await deck.state(name)
        agents.append(await deck.registry.find(name))
    commits, answers = deck.store.writer.commits, Answers(6)
    for one in agents:
        deck.post(one, "hi", answer=answers.take)
    deck.registry.advance()

    assert 6 * [2] == await answers.kinds()
    assert commits + 1 == deck.store.writer.commits


async def test_a_long_run_is_cut(deck: Deck, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is in front of a run that never ends is answered before its end."""
    monkeypatch.setattr(agent_module, "_RUN", 4)
    commits, answers = deck.store.writer.commits, Answers(10)
    for number in range(10):
        deck.post(agent, str(number), answer=answers.take)
    deck.registry.advance()

    assert list(range(2, 12)) == await answers.kinds()
    assert commits + 3 == deck.store.writer.commits


async def test_a_look_sees_what_was_asked_for_before_it(deck: Deck, agent: Agent) -> None:
    """A read ends the run, and is answered from committed state."""
    answers = Answers(4)
    deck.post(agent, "one", answer=answers.take)
    agent.post(Look(lambda state: {"head": shown(state.conversation)}, answers.take))
    deck.post(agent, "two", answer=answers.take)
    agent.post(Look(lambda state: {"head": shown(state.conversation)}, answers.take))
    deck.registry.advance()

    assert [2, ["one"], 3, ["one", "two"]] == await answers.kinds()


async def test_if_seq_holds_within_a_run(deck: Deck, agent: Agent) -> None:
    """Of two who know the same head one wins; the other is told the new one, and the next goes on."""
    answers = Answers(4)
    for text, if_seq in (("wins", 1), ("loses", 1), ("knows", 2), ("any", None)):
        deck.post(agent, text, if_seq=if_seq, answer=answers.take)
    deck.registry.advance()
    kinds = await answers.kinds()

    assert sorted([2, Conflict, 3, 4], key=str) == sorted(kinds, key=str)
    assert ["wins", "knows", "any"] == await deck.texts("a")
    assert [{"head": 2}] == [got.data for got in answers.got if isinstance(got, Conflict)]


async def test_a_full_mailbox(deck: Deck, agent: Agent) -> None:
    """Who comes then is refused, and who came before is served."""
    agent._room = 3
    answers = Answers(3)
    for _ in range(3):
        deck.post(agent, "x", answer=answers.take)
    with pytest.raises(Busy):
        deck.post(agent, "x", answer=answers.take)
    deck.registry.advance()

    assert [2, 3, 4] == await answers.kinds()


# --- failing commits


@pytest.mark.parametrize("guilty", [0, 1, 4])
async def test_only_the_guilty_one_of_a_run_fails(deck: Deck, agent: Agent, guilty: int) -> None:
    """When a unit fails, its commands are tried one by one, and the others are written in order."""
    await deck.store._database.run(lambda connection: connection.execute("PRAGMA max_page_count = 200").fetchall())
    answers = Answers(5)
    for number in range(5):
        deck.post(agent, "x" * 900_000 if number == guilty else str(number), answer=answers.take)
    deck.registry.advance()
    expected: list[Any] = [2, 3, 4, 5]
    expected.insert(guilty, Storage)

    assert expected == await answers.kinds()
    assert [str(number) for number in range(5) if number != guilty] == await deck.texts("a")
    assert (await deck.replay("a")).matched


async def test_nothing_is_refused_for_what_was_not_written(deck: Deck, agent: Agent) -> None:
    """A command that supposes the head before another one's goes through where that one could not be written."""
    await deck.store._database.run(lambda connection: connection.execute("PRAGMA max_page_count = 200").fetchall())
    answers = Answers(2)
    deck.post(agent, "x" * 900_000, if_seq=1, answer=answers.take)
    deck.post(agent, "two", if_seq=1, answer=answers.take)
    deck.registry.advance()

    assert [Storage, 2] == await answers.kinds()
    assert ["two"] == await deck.texts("a")


async def test_after_a_failure_runs_are_units_again(deck: Deck, agent: Agent) -> None:
    """Only those that failed together go one by one, whatever came of each."""
    await deck.store._database.run(lambda connection: connection.execute("PRAGMA max_page_count = 200").fetchall())
    answers = Answers(3)
    for text in ("one", "x" * 900_000, "two"):
        deck.post(agent, text, answer=answers.take)
    deck.registry.advance()
    assert [2, Storage, 3] == await answers.kinds()
    commits, answers = deck.store.writer.commits, Answers(3)
    for _ in range(3):
        deck.post(agent, "x", answer=answers.take)
    deck.registry.advance()

    assert [4, 5, 6] == await answers.kinds()
    assert commits + 1 == deck.store.writer.commits


COMMANDS: list[Callable[[Deck], Any]] = [
    lambda deck: deck.add("a", "x"),
    lambda deck: deck.mark("a"),
    lambda deck: deck.clear("a"),
    lambda deck: deck.rewind("a"),
    lambda deck: deck.restore("a", 0),
    lambda deck: deck.undo("a"),
    lambda deck: deck.change("a", "other"),
    lambda deck: deck.kill("a"),
    lambda deck: deck.clone("a", "other"),
    lambda deck: deck.clone_into("b", "a"),
]


@pytest.mark.parametrize("act", COMMANDS)
async def test_a_commit_that_fails_changes_nothing(deck: Deck, act: Callable[[Deck], Any]) -> None:
    """The caller gets the error, the agent is what it was and is read, and the same works when there is room."""
    await deck.add("b", "other", create=True)
    await deck.create("a", "p")
    await deck.mark("a")
    await deck.add("a", "one")
    before = (await deck.state("a")).profile, await deck.texts("a")
    await read_only(deck, True)
    with pytest.raises(Storage, match="nothing was written"):
        await act(deck)
    assert before == ((await deck.state("a")).profile, await deck.texts("a"))
    assert (await deck.replay("a")).matched
    await read_only(deck, False)

    await act(deck)
    assert (await deck.replay((await deck.state("b")).profile.uid)).matched


# --- bugs


async def test_a_stage_with_a_bug(deck: Deck, agent: Agent, caplog: pytest.LogCaptureFixture) -> None:
    """All who wait for this agent get internal, nothing is written, and the next use starts it anew."""
    answers = Answers(3)
    deck.post(agent, "one", answer=answers.take)
    agent.post(Write(fail_with(ZeroDivisionError()), Terms(), answers.take))
    deck.post(agent, "two", answer=answers.take)
    deck.registry.advance()

    assert 3 * [Internal] == await answers.kinds()
    assert [] == await deck.texts("a")
    assert agent is not await deck.registry.find("a")
    assert 1 == deck.registry.failed
    assert any("its state is dropped and will be read from the log" in text for text in caplog.messages)


async def test_a_look_with_a_bug(deck: Deck, agent: Agent) -> None:
    """Looking is no different: its agent is dropped, and whoever came after is told."""
    answers = Answers(2)
    agent.post(Look(fail_with(ZeroDivisionError()), answers.take))
    deck.post(agent, "one", answer=answers.take)
    deck.registry.posted(agent)
    deck.registry.advance()

    assert 2 * [Internal] == await answers.kinds()
    assert [] == await deck.texts("a")


async def test_a_turn_with_a_bug(deck: Deck, agent: Agent) -> None:
    """So is a turn."""
    answers = Answers(2)
    agent.post(Turn(fail_with(ZeroDivisionError()), answers.take))
    deck.post(agent, "one", answer=answers.take)
    deck.registry.advance()

    assert 2 * [Internal] == await answers.kinds()
    assert [] == await deck.texts("a")


@pytest.mark.parametrize("mail", [Look, Turn])
async def test_a_refusal_is_no_bug(deck: Deck, agent: Agent, mail: Any) -> None:
    """An error of the protocol goes to its caller, and the agent goes on."""
    with pytest.raises(InvalidParams):
        await deck.registry.ask(agent, lambda answer: mail(fail_with(InvalidParams("no")), answer))

    assert agent is await deck.registry.find("a")


async def test_applying_with_a_bug(deck: Deck, agent: Agent) -> None:
    """A unit that was committed and could not be folded is in the log, and its caller gets internal."""
    answers = Answers(2)
    deck.post(agent, "one", answer=answers.take)
    deck.registry.advance()
    agent.living.conversation.entries = None  # type: ignore[assignment]
    deck.post(agent, "two", answer=answers.take)

    assert 2 * [Internal] == await answers.kinds()
    assert ["one"] == await deck.texts("a")


async def test_a_turn_whose_state_cannot_be_gone_on_with(deck: Deck, agent: Agent) -> None:
    """A committed clear that could not be folded is in the log, and its caller gets internal."""
    await deck.add("a", "one")
    agent.living.conversation._answered = None  # type: ignore[assignment]
    agent.living.conversation.marks = None  # type: ignore[assignment]
    with pytest.raises(Internal):
        await deck.clear("a")

    assert (await deck.replay("a")).matched


@pytest.mark.parametrize("act", [lambda deck: deck.add("a", "two", "three"), lambda deck: deck.clear("a")])
async def test_a_state_that_is_behind_its_log(
    deck: Deck, agent: Agent, act: Callable[[Deck], Awaitable[Any]], caplog: pytest.LogCaptureFixture
) -> None:
    """A command over it is internal, writes nothing and is logged; the next use reads the log, and goes on."""
    await deck.add("a", "one")
    agent.living.profile = agent.living.profile._replace(head=1)
    with pytest.raises(Internal):
        await act(deck)
    assert ["one"] == await deck.texts("a")
    assert [DivergedError] == [record.exc_info[0] for record in caplog.records if record.exc_info]

    await act(deck)
    assert (await deck.replay("a")).matched


async def test_a_failing_agent_harms_nobody_else(deck: Deck, agent: Agent) -> None:
    """Others' units in the same transaction are written and answered."""
    await deck.create("b")
    await deck.state("b")
    other = await deck.registry.find("b")
    answers, others = Answers(1), Answers(1)
    deck.post(agent, "one", answer=answers.take)
    deck.post(other, "one", answer=others.take)
    deck.registry.advance()
    agent.living.conversation.entries = None  # type: ignore[assignment]

    assert ([Internal], [2]) == (await answers.kinds(), await others.kinds())
    assert other is await deck.registry.find("b")


# --- order and time


async def test_a_turn_holds_everything_else(deck: Deck, agent: Agent) -> None:
    """What comes while a turn waits is done after it, in order."""
    answers, gate = Answers(3), anyio.Event()

    async def turn(held: Agent) -> Reply:
        await gate.wait()
        return {"head": held.living.profile.head}

    agent.post(Turn(turn, answers.take))
    deck.post(agent, "one", answer=answers.take)
    agent.post(Look(lambda state: {"head": shown(state.conversation)}, answers.take))
    deck.registry.advance()
    await anyio.wait_all_tasks_blocked()
    assert [] == answers.got
    gate.set()

    assert [1, 2, ["one"]] == await answers.kinds()


async def test_a_reload_gives_an_equal_state(opened: Open) -> None:
    """After everything that can happen to a conversation, what is read is what was live."""
    async with opened() as deck:
        await deck.create("a", "p", title="T")
        await deck.add("a", "one", {"role": "assistant", "content": [CALL, {**CALL, "id": "c2"}]})
        await deck.mark("a", "m")
        await deck.add("a", {"role": "tool", "content": [RESULT]}, {"kind": "usage"})
        for act in (deck.rewind, deck.undo, deck.clear, deck.undo, deck.redo, deck.undo):
            await act("a")
        live = await deck.state("a")
    async with opened() as deck:
        read = await deck.state("a")

    assert states_equal(live, read)
    assert ["c2"] == [call.id for call in read.conversation.open_calls]


def states_equal(one: State, other: State) -> bool:
    """Compare profiles and conversations."""
    return one.profile == other.profile and one.conversation == other.conversation


CALL = {"type": "tool_call", "id": "c1", "name": "f", "arguments": "{}"}
RESULT = {"type": "tool_result", "tool_call_id": "c1", "content": "out"}


async def test_a_client_is_named_in_its_events(deck: Deck, agent: Agent) -> None:
    """Every event says who asked for it, each of a run its own."""
    answers = Answers(2)
    for client in ("nvim", None):
        agent.post(Write(put_blindly, Terms(client=client), answers.take))
    deck.registry.posted(agent)
    deck.registry.advance()
    await answers.all()

    assert ["test", "nvim", None] == [event["client"] for event in await deck.events("a")]
