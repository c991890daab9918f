"""A session of Strands Agents is an agent: its messages come back as they were, whoever else writes."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import reel
from reel.base.errors import Killed, NotFound
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.patience import PATIENCE

pytest.importorskip("strands", reason="strands-agents is not installed")

from strands import Agent, hooks, tool
from strands.agent.conversation_manager import SlidingWindowConversationManager, SummarizingConversationManager
from strands.hooks import MessageAddedEvent
from strands.session.repository_session_manager import RepositorySessionManager
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from reel.integrations.strands_agents import ReelSessionManager, ReelSessionRepository
from reel.integrations.strands_agents.blocks import content_of, messages_of
from reel.integrations.strands_agents.entries import _numbers
from tests.adapters.strands_model import FakeModel, Json

_NUMBERS = count()
# The managers of a test.
_MADE: list[ReelSessionManager] = []
PICTURE = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
CALL = {"toolUse": {"toolUseId": "c1", "name": "look_up", "input": {"word": "tape deck"}}}


@pytest.fixture
def session() -> str:
    """The id of a session that nobody has used."""
    return f"s{next(_NUMBERS)}"


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Close the managers of a test."""
    yield
    while _MADE:
        _MADE.pop().close()


@pytest.fixture
def repository(daemon: Daemon) -> Iterator[ReelSessionRepository]:
    made = ReelSessionRepository(socket=daemon.socket)
    yield made
    made.close()


@tool  # type: ignore[untyped-decorator]
def look_up(word: str) -> str:
    """Look up a word."""
    return f"{word}: a machine that plays tapes."


def words(text: str) -> list[Json]:
    """Return the content of an answer."""
    return [{"text": text}]


def manager_of(daemon: Daemon, session: str) -> ReelSessionManager:
    """Return the manager of a session in a new process."""
    _MADE.append(ReelSessionManager(session, socket=daemon.socket))
    return _MADE[-1]


def agent_of(daemon: Daemon, session: str, *answers: list[Json] | None, **more: Any) -> Agent:
    """Return an agent as a new process makes it."""
    manager = manager_of(daemon, session)
    options: Json = {"callback_handler": None, "tools": [look_up], "agent_id": "default", **more}
    return Agent(model=FakeModel(*answers), session_manager=manager, **options)


def name_of(session: str) -> str:
    return f"strands/{session}/default"


def said(agent: Agent) -> list[tuple[str, list[Json]]]:
    """Return what an agent has in its memory."""
    return [(message["role"], message["content"]) for message in agent.messages]


def texts(agent: Agent) -> list[str]:
    return [block["text"] for _, content in said(agent) for block in content if "text" in block]


def test_a_session_goes_on(daemon: Daemon, client: Client, session: str) -> None:
    """The next process has all messages, deeply equal, and the state; others see words, calls, results and files."""
    first = agent_of(daemon, session, [CALL], words("It plays tapes."), words("Yes."), state={"mood": "calm"})
    first([{"text": "What is this?"}, PICTURE])
    first.state.set("mood", "glad")
    first("Are you sure?")

    again = agent_of(daemon, session)

    assert said(first) == said(again)
    assert {"mood": "glad"} == again.state.get()
    assert "glad" == client.state(name_of(session)).values[0].value
    stored = [(message["role"], message["content"]) for message in client.iter_messages(name_of(session))]
    assert ["user", "assistant", "tool", "assistant", "user", "assistant"] == [role for role, _ in stored]
    assert ["text", "media"] == [block["type"] for block in stored[0][1]]
    assert "tape deck: a machine that plays tapes." == stored[2][1][0]["content"]  # type: ignore[typeddict-item]


def test_what_others_say(daemon: Daemon, client: Client, session: str) -> None:
    """The model gets what others added, behind a result if it came before that, and results of one message as one."""
    first = agent_of(daemon, session, words("Hello."))
    first("Hi.")
    calls = [reel.tool_call(f"o{number}", "look_up", {"word": str(number)}) for number in (1, 2)]
    both: Any = {"role": "assistant", "content": [call["content"][0] for call in calls]}
    results = [reel.tool_result(f"o{number}", f"found {number}") for number in (1, 2)]
    client.add(name_of(session), [both, results[0], reel.text("user", "Quick!"), results[1]])

    again = agent_of(daemon, session, words("Done."))
    again("And?")

    sent = again.model.sent[0]
    assert ["user", "assistant", "assistant", "user", "user", "user"] == [message["role"] for message in sent]
    assert ["o1", "o2"] == [block["toolUse"]["toolUseId"] for block in sent[2]["content"]]
    assert [("o1", "found 1"), ("o2", "found 2")] == [
        (block["toolResult"]["toolUseId"], block["toolResult"]["content"][0]["text"]) for block in sent[3]["content"]
    ]
    assert ["Quick!", "And?"] == [message["content"][0]["text"] for message in sent[4:]]


def test_an_undo(daemon: Daemon, client: Client, session: str) -> None:
    """What was taken back is not in the memory of the next process, which goes on from there."""
    first = agent_of(daemon, session, words("Hello."), words("Wrong."))
    first("Hi.")
    first("What is a tape deck?")
    client.undo(name_of(session))

    again = agent_of(daemon, session, words("Right."))

    assert ["Hi.", "Hello.", "What is a tape deck?"] == texts(again)
    again("Well?")
    assert ["Hi.", "Hello.", "What is a tape deck?", "Well?", "Right."] == texts(agent_of(daemon, session))


def test_an_undo_of_a_turn(daemon: Daemon, client: Client, session: str) -> None:
    """A whole turn is taken back at once, with its calls and results, and one undo brings it back."""
    first = agent_of(daemon, session, words("Hello."), [CALL], words("It plays tapes."))
    first("Hi.")
    first("What is a tape deck?")

    client.undo_turn(name_of(session))
    assert ["Hi.", "Hello."] == texts(agent_of(daemon, session))
    client.undo(name_of(session))
    assert said(first) == said(agent_of(daemon, session))


def test_a_redaction(daemon: Daemon, client: Client, session: str) -> None:
    """After a redaction of the messages that show a word, it is in no file, and the session goes on."""
    word = "swordfish"
    call = {"toolUse": {"toolUseId": "c1", "name": "look_up", "input": {"word": word}}}
    first = agent_of(daemon, session, [call], words(f"{word} is a fish."), words("Yes."))
    first(f"What is a {word}?")
    shown = [message["seq"] for message in client.iter_messages(name_of(session)) if word in str(message["content"])]

    client.redact(name_of(session), seqs=shown)

    files = b"".join(path.read_bytes() for path in Path(daemon.database).parent.glob("*.db*"))
    assert word.encode() not in files
    again = agent_of(daemon, session, words("Yes."))
    again("Are you sure?")
    roles = [message["role"] for message in again.messages]
    assert ["user", "assistant", "user", "assistant", "user", "assistant"] == roles


def test_a_conversation_of_others(daemon: Daemon, client: Client, session: str) -> None:
    """A conversation that others have begun goes on, whatever manages the memory; so does a clone."""
    client.create(name_of(session))
    client.add(name_of(session), [reel.text("user", "Hi."), reel.text("assistant", "Hello.")])

    first = agent_of(daemon, session, words("It plays."), conversation_manager=SlidingWindowConversationManager(9))
    first("What does it do?")
    assert ["Hi.", "Hello.", "What does it do?"] == [each["content"][0]["text"] for each in first.model.sent[0]]
    client.clone(name_of(session), name_of(f"{session}-other"))

    assert ["Hi.", "Hello.", "What does it do?", "It plays."] == texts(agent_of(daemon, session))
    assert ["Hi.", "Hello.", "What does it do?", "It plays."] == texts(agent_of(daemon, f"{session}-other"))


def test_what_is_no_longer_sent(daemon: Daemon, client: Client, session: str) -> None:
    """A sliding window stays where it was a turn ago, and does not hide a summary that others put in its place."""
    window: Json = {"conversation_manager": SlidingWindowConversationManager(4)}
    first = agent_of(daemon, session, *(words(f"a{number}") for number in range(4)), **window)
    for number in range(4):
        first(f"q{number}")

    second = agent_of(daemon, session, words("a4"), conversation_manager=SlidingWindowConversationManager(4))
    assert ["q1", "a1", "q2", "a2", "q3", "a3"] == texts(second)
    second("q4")
    assert ["q3", "a3", "q4", "a4"] == texts(second)
    assert ["q3", "a3", "q4", "a4"] == texts(agent_of(daemon, session, **window))

    whole = [*client.iter_messages(name_of(session))]
    for keys in (("role", "content", "provider_metadata"), ("role", "content")):
        kept: Any = [{key: message[key] for key in keys if key in message} for message in whole[-3:]]
        begin = client.messages(name_of(session)).messages[0]["seq"]
        client.add(name_of(session), [reel.text("user", "We counted to three."), *kept], from_=begin)

        assert ["We counted to three.", "a3", "q4", "a4"] == texts(agent_of(daemon, session, **window))


class Approval(hooks.HookProvider):  # type: ignore[misc]  # the framework's types are not read
    """Asks a person before each call."""

    def register_hooks(self, registry: Any, **_more: Any) -> None:
        """Ask before a call."""
        registry.add_callback(hooks.BeforeToolCallEvent, lambda event: event.interrupt("approval", reason="May I?"))


@pytest.mark.skipif(not hasattr(hooks, "BeforeToolCallEvent"), reason="this version has no interrupts")
def test_an_interrupt_that_is_taken_back(daemon: Daemon, client: Client, session: str) -> None:
    """Who takes back the turn that waits for a person takes back its question, too; a redo brings both back."""
    asking: Json = {"hooks": [Approval()]}
    agent_of(daemon, session, words("Hello."), **asking)("Hi.")
    asked = agent_of(daemon, session, [CALL], **asking)("What is this?")
    answer = [{"interruptResponse": {"interruptId": asked.interrupts[0].id, "response": "yes"}}]

    client.undo_turn(name_of(session))
    client.clone(name_of(session), name_of(f"{session}-other"))
    assert "end_turn" == agent_of(daemon, f"{session}-other", words("Bye."), **asking)("Bye?").stop_reason
    client.undo(name_of(session))
    assert "end_turn" == agent_of(daemon, session, words("Done."), **asking)(answer).stop_reason
    assert "end_turn" == agent_of(daemon, session, words("Bye."), **asking)("Bye?").stop_reason


def left_out(client: Client, session: str) -> int:
    """Return how many messages the window of an agent leaves out, as it is stored."""
    (found,) = client.state(name_of(session), ["strands:agent"]).values
    count: int = found.value["conversation_manager_state"]["removed_message_count"]
    return count


def test_how_many_messages_are_no_longer_sent(daemon: Daemon, client: Client, session: str) -> None:
    """That number is stored with the next message, or at once if something else is new."""
    window: Json = {"conversation_manager": SlidingWindowConversationManager(4)}
    first = agent_of(daemon, session, *(words(f"a{number}") for number in range(7)), **window)
    counts = []
    for number in range(5):
        first(f"q{number}")
        counts.append(left_out(client, session))
    first.state.set("mood", "glad")
    first("q5")

    assert [0, 0, 0, 2, 4] == counts
    assert 6 == left_out(client, session)
    first("q6")
    assert 8 == left_out(client, session)


def test_a_number_that_is_as_it_was(repository: ReelSessionRepository, client: Client, session: str) -> None:
    """What is stored is the newest number, and not one that was late in between."""
    store_numbers(repository, session, 0, 2, 0)
    said_to_it = SessionMessage.from_message({"role": "user", "content": words("Hi.")}, 0)
    repository.create_message(session, "default", said_to_it)

    assert 0 == left_out(client, session)


def store_numbers(repository: ReelSessionRepository, session: str, *numbers: int) -> None:
    """Create an agent in a new session, and update it: its window leaves out so many messages, then so many."""
    repository.create_session(Session(session_id=session, session_type=SessionType.AGENT))
    for each, left in enumerate(numbers):
        kept = SessionAgent(agent_id="default", state={}, conversation_manager_state={"removed_message_count": left})
        (repository.update_agent if each else repository.create_agent)(session, kept)


def test_a_number_that_becomes_lower(repository: ReelSessionRepository, client: Client, session: str) -> None:
    """A lower number is not late: with the earlier one, the next process would not read all messages."""
    store_numbers(repository, session, 0, 9, 12, 10)
    assert 0 == left_out(client, session)

    store_numbers(repository, f"{session}-lower", 9, 3)
    assert 3 == left_out(client, f"{session}-lower")


def test_a_window_that_counts_nothing(repository: ReelSessionRepository, client: Client, session: str) -> None:
    """What a conversation manager that leaves out nothing keeps is stored at once."""
    repository.create_session(Session(session_id=session, session_type=SessionType.AGENT))
    for each in range(3):
        kept = SessionAgent(agent_id="default", state={}, conversation_manager_state={"step": each})
        (repository.update_agent if each else repository.create_agent)(session, kept)

    (found,) = client.state(name_of(session), ["strands:agent"]).values
    assert {"step": 2} == found.value["conversation_manager_state"]


def test_a_repository_reads_what_it_has_stored(repository: ReelSessionRepository, client: Client, session: str) -> None:
    """What is late is stored before the agent is read, unless the agent was killed."""

    def read() -> int:
        kept = repository.read_agent(session, "default")
        assert kept is not None
        number: int = kept.conversation_manager_state["removed_message_count"]
        return number

    store_numbers(repository, session, 0, 2)
    for number in range(4):
        message = SessionMessage.from_message({"role": "user", "content": words("Hi.")}, number)
        repository.create_message(session, "default", message)
    kept = SessionAgent(agent_id="default", state={}, conversation_manager_state={"removed_message_count": 3})
    repository.update_agent(session, kept)
    assert 2 == left_out(client, session)

    assert 3 == read()
    assert 3 == left_out(client, session)
    for number in (1, 2):
        kept.conversation_manager_state = {"removed_message_count": number}
        repository.update_agent(session, kept)
    client.kill(name_of(session))
    assert 1 == read()


def full(daemon: Daemon, session: str) -> Agent:
    """Return an agent that leaves out six messages after four turns; that it does is late."""
    window: Json = {"conversation_manager": SlidingWindowConversationManager(2)}
    agent = agent_of(daemon, session, *(words(f"a{number}") for number in range(6)), **window)
    for number in range(4):
        agent(f"q{number}")
    return agent


def test_a_record_of_another_program(daemon: Daemon, client: Client, session: str) -> None:
    """What another program has stored meanwhile, such as an interrupt, is not replaced by what is late."""
    first = full(daemon, session)
    (found,) = client.state(name_of(session), ["strands:agent"]).values
    other = {**found.value, "_internal_state": {"interrupt_state": {"activated": True}}}
    client.add(name_of(session), [reel.state("strands:agent", other)])

    message = SessionMessage.from_message({"role": "user", "content": words("Hi.")}, 8)
    first._session_manager.create_message(session, "default", message)

    assert other == client.state(name_of(session), ["strands:agent"]).values[0].value
    assert "Hi." == client.messages(name_of(session)).messages[-1]["content"][0]["text"]  # type: ignore[typeddict-item]
    for number in (4, 5):
        first(f"q{number}")
    assert 8 == left_out(client, session)


def test_a_message_that_leaves_no_room(daemon: Daemon, client: Client, session: str) -> None:
    """A message is stored although what is late does not fit into the same command; that is stored after the turn."""
    first = full(daemon, session)
    hello = client.connect().server
    assert hello is not None
    half = hello.limits["message"] // 2  # its words are in the message and in the item

    def add(size: int) -> None:
        message = SessionMessage({"role": "user", "content": words("x" * size)}, 8)
        first._session_manager.create_message(session, "default", message)

    with pytest.raises(SessionException):
        add(half)
    add(half - 250)

    assert 4 == left_out(client, session)
    for number in (4, 5):
        first(f"q{number}")
    assert 8 == left_out(client, session)


def test_an_undo_of_more_than_is_sent(daemon: Daemon, client: Client, session: str) -> None:
    """The window begins again if others go back to before it, and no process hides what is there now."""
    window: Json = {"conversation_manager": SlidingWindowConversationManager(6)}
    first = agent_of(daemon, session, *(words(f"a{number}") for number in range(5)), **window)
    for number in range(5):
        first(f"q{number}")
    client.add(name_of(session), [], from_=client.messages(name_of(session)).messages[2]["seq"])
    assert 2 == left_out(client, session)

    expected = ["q0", "a0"]
    for number in (5, 6):
        window = {"conversation_manager": SlidingWindowConversationManager(6)}
        again = agent_of(daemon, session, words(f"a{number}"), **window)
        assert expected == texts(again)
        again(f"q{number}")
        expected += [f"q{number}", f"a{number}"]
        assert 0 == left_out(client, session)
    assert expected == texts(agent_of(daemon, session, **window))


def test_an_undo_of_what_was_summarized(daemon: Daemon, client: Client, session: str) -> None:
    """A summary of messages that others have taken back is not in the memory of the next process."""
    manager = SummarizingConversationManager(summary_ratio=0.5, preserve_recent_messages=1)
    answers = [*(words(f"a{number}") for number in range(3)), words("They counted.")]
    first = agent_of(daemon, session, *answers, conversation_manager=manager)
    for number in range(3):
        first(f"q{number}")
    manager.reduce_context(first)
    first._session_manager.sync_agent(first)
    assert "They counted." in texts(agent_of(daemon, session, conversation_manager=SummarizingConversationManager()))

    client.add(name_of(session), [], from_=client.messages(name_of(session)).messages[2]["seq"])

    again = agent_of(daemon, session, conversation_manager=SummarizingConversationManager())
    assert ["q0", "a0"] == texts(again)
    assert 0 == again.conversation_manager.removed_message_count


def test_processes_of_one_turn(daemon: Daemon, client: Client, session: str) -> None:
    """What is stored falls no further behind if each process has one turn: each stores its number at once."""
    for number in range(6):
        window: Json = {"conversation_manager": SlidingWindowConversationManager(4)}
        agent_of(daemon, session, words(f"a{number}"), **window)(f"q{number}")

    assert 8 == left_out(client, session)


def in_repository(repository: ReelSessionRepository, session: str) -> Agent:
    """Return an agent whose window is full after a turn, and that shares a connection with others."""
    manager, window = RepositorySessionManager(session, repository), SlidingWindowConversationManager(2)
    model = FakeModel(*(words(f"a{number}") for number in range(8)))
    return Agent(model=model, session_manager=manager, conversation_manager=window, callback_handler=None)


def test_a_number_that_cannot_be_stored(repository: ReelSessionRepository, client: Client, session: str) -> None:
    """Another agent goes on if one is killed before its window's number is stored; that one says that it was killed."""
    one, other = in_repository(repository, session), in_repository(repository, f"{session}-other")
    one("q0")
    one("q1")

    def kill(event: MessageAddedEvent) -> None:
        if event.message["role"] == "assistant":
            client.kill(name_of(session))

    one.hooks.add_callback(MessageAddedEvent, kill)
    one("q2")
    other("q0")

    assert ["q0", "a0"] == texts(in_repository(repository, f"{session}-other"))
    with pytest.raises(Killed, match=r"^killed: agent \S+ is killed; revive it"):
        one("q3")


def test_agents_in_threads(repository: ReelSessionRepository, session: str) -> None:
    """Agents in threads share a connection; each stores its own number."""

    def work(own: str) -> None:
        agent = in_repository(repository, own)
        for number in range(8):
            agent(f"q{number}")

    sessions = [f"{session}-{number}" for number in range(4)]
    threads = [Thread(target=work, args=(own,), daemon=True) for own in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert [["q7", "a7"]] * 4 == [texts(in_repository(repository, own)) for own in sessions]


def test_numbers() -> None:
    """Numbers rise and stay; what others add before a message is right below it."""
    assert [0, 1, 2] == _numbers([0, 1, 2])
    assert [0, 1, 2, 3] == _numbers([None, None, None, None])
    assert [0, 1, 2, 3] == _numbers([0, 1, None, 2])
    assert [0, 1, 2, 50] == _numbers([0, 1, 2, 50])
    assert [89, 90, 91] == _numbers([None, 90, None])
    assert [0, 1, 2, 3] == _numbers([None, None, None, 1])
    assert [5, 6, 7] == _numbers([5, 5, 5])
    assert [] == _numbers([])


def test_a_guardrail(daemon: Daemon, client: Client, session: str) -> None:
    """What a guardrail redacts is replaced, with what others said behind it; one undo brings it back."""
    first = agent_of(daemon, session, None)
    first("A secret.")
    head = client.messages(name_of(session)).messages

    assert ["[removed]", "I cannot say."] == [message["content"][0]["text"] for message in head]  # type: ignore[typeddict-item]
    assert ["[removed]", "I cannot say."] == texts(agent_of(daemon, session))


def test_an_update_in_the_middle(
    repository: ReelSessionRepository, client: Client, daemon: Daemon, session: str
) -> None:
    """A message is replaced where it is; its time stays, and so does what is after it; one undo takes that back."""
    first = agent_of(daemon, session, words("Hello."), words("Yes."))
    first("Hi.")
    client.add(name_of(session), [reel.text("user", "From the side.")])
    first("Sure?")
    before = repository.list_messages(session, "default")

    message = SessionMessage.from_message({"role": "assistant", "content": words("Good day.")}, 1)
    repository.update_message(session, "default", message)

    after = repository.list_messages(session, "default")
    assert ["Hi.", "Good day.", "From the side.", "Sure?", "Yes."] == [
        each.message["content"][0]["text"] for each in after
    ]
    assert [each.message_id for each in before] == [each.message_id for each in after]
    assert before[1].created_at == after[1].created_at
    client.undo(name_of(session))
    assert before == repository.list_messages(session, "default")


def test_the_newest_message_of_a_program_that_does_not_know_of_others(
    repository: ReelSessionRepository, client: Client, daemon: Daemon, session: str
) -> None:
    """A program replaces what it added, although others have added a message that took its number."""
    first = agent_of(daemon, session, words("Hello."))
    first("Hi.")
    client.add(name_of(session), [reel.text("user", "From the side.")])
    own = SessionMessage.from_message({"role": "user", "content": words("Mine.")}, 2)
    repository.create_message(session, "default", own)
    own.redact_message = {"role": "user", "content": words("[removed]")}

    repository.update_message(session, "default", own)

    assert ["Hi.", "Hello.", "From the side.", "[removed]"] == texts(agent_of(daemon, session))


def test_states(daemon: Daemon, client: Client, session: str) -> None:
    """Any value comes back, under any key; 1 and true differ, and what was removed is gone."""
    given = {"one": 1, "none": None, "list": [1, {"a": "b"}], "strands:mine": 1, "k" * 300: 2, "gone": 3, "": 4}
    first = agent_of(daemon, session, words("a"), words("b"), state=given)
    first("x")
    assert given == agent_of(daemon, session).state.get()

    first.state.set("one", True)
    first.state.delete("gone")
    first.state.delete("k" * 300)
    first("y")

    again = agent_of(daemon, session).state.get()
    assert {"list": [1, {"a": "b"}], "none": None, "one": True, "strands:mine": 1, "": 4} == again
    assert again["one"] is True
    client.add(name_of(session), [reel.state("one", "set by hand")])
    assert "set by hand" == agent_of(daemon, session).state.get("one")


def test_a_state_that_others_change(daemon: Daemon, client: Client, session: str) -> None:
    """A program writes what it has changed, and takes back nothing that others have set meanwhile."""
    first = agent_of(daemon, session, words("a"), state={"mine": 1, "yours": 1, "gone": 1})
    client.add(name_of(session), [reel.state("new", 2), reel.state("yours", 2)])
    first.state.set("mine", 3)
    first.state.delete("gone")
    first("x")

    assert {"mine": 3, "yours": 2, "new": 2} == agent_of(daemon, session).state.get()


def test_two_programs_at_once(daemon: Daemon, session: str) -> None:
    """Of what two programs say in turn in one session nothing is lost."""
    left = agent_of(daemon, session, words("a0"), words("a1"))
    right = agent_of(daemon, session, words("b0"), words("b1"))
    for number in range(2):
        left(f"p{number}")
        right(f"q{number}")

    assert ["p0", "a0", "q0", "b0", "p1", "a1", "q1", "b1"] == texts(agent_of(daemon, session))


def test_a_repository_in_the_vendors_manager(repository: ReelSessionRepository, session: str) -> None:
    """The framework's own manager works with the repository."""
    for _ in range(2):
        model = FakeModel(words("Hello."))
        manager = RepositorySessionManager(session, repository)
        agent = Agent(model=model, session_manager=manager, callback_handler=None)
        agent("Hi.")

    assert ["Hi.", "Hello.", "Hi.", "Hello."] == texts(agent)


@pytest.mark.parametrize("name", ["a/b", "../a", ""])
def test_an_id_that_is_a_path(repository: ReelSessionRepository, name: str) -> None:
    """An id with a path separator is refused, as with the framework's own files."""
    if name:
        with pytest.raises(ValueError, match="without path separators"):
            repository.read_session(name)
    with pytest.raises(ValueError, match="agent_id"):
        repository.list_messages("s", name or "a/b")


def test_an_id_that_is_no_name(daemon: Daemon, client: Client) -> None:
    """A session with any other id is stored, listed by its tag, and deleted."""
    odd = "who? \N{SNOWMAN}" + "x" * 300
    agent_of(daemon, odd, words("Hello."))("Hi.")
    manager = manager_of(daemon, odd)

    assert ["Hi.", "Hello."] == texts(agent_of(daemon, odd))
    assert manager.agent_name(odd).startswith("strands/sha256-")
    manager.delete_session(odd)
    assert manager.read_session(odd) is None
    with pytest.raises(NotFound):
        client.agent(manager.agent_name(odd))


def test_what_json_does_not_have(repository: ReelSessionRepository, daemon: Daemon, session: str) -> None:
    """A message with NaN is refused, and nothing is added."""
    agent_of(daemon, session, words("Hello."))("Hi.")
    call = {"toolUse": {"toolUseId": "c1", "name": "look_up", "input": {"word": float("nan")}}}

    with pytest.raises(SessionException):
        repository.create_message(session, "default", SessionMessage({"role": "assistant", "content": [call]}, 2))
    assert ["Hi.", "Hello."] == texts(agent_of(daemon, session))


def test_a_killed_agent(repository: ReelSessionRepository, client: Client, daemon: Daemon, session: str) -> None:
    """A killed agent is read, and not written to."""
    agent_of(daemon, session, words("Hello."))("Hi.")
    client.kill(name_of(session))

    with pytest.raises(Killed):
        repository.create_message(session, "default", SessionMessage({"role": "user", "content": words("x")}, 2))
    assert 2 == len(repository.list_messages(session, "default"))


def test_a_session_is_deleted_for_good(
    repository: ReelSessionRepository, daemon: Daemon, client: Client, session: str
) -> None:
    """What was said is in no file afterwards; a clone under the name of another session stays."""
    agent_of(daemon, session, words("the-word-to-go"), state={"key": "the-value-to-go"})("Hi.")
    agent_of(daemon, session + "x", words("Hello."))("Hi.")

    manager_of(daemon, session).delete_session(session)

    files = b"".join(path.read_bytes() for path in Path(daemon.database).parent.glob("*.db*"))
    assert b"to-go" not in files
    assert client.agent(name_of(session + "x")).alive
    with pytest.raises(SessionException):
        repository.delete_session(session)


def test_a_session_that_begins_again(daemon: Daemon, session: str) -> None:
    """After a session was deleted, the same program begins it again, with its state."""
    agent_of(daemon, session, state={"mood": "calm"})
    manager = manager_of(daemon, session)
    kept = manager.read_agent(session, "default")
    manager.delete_session(session)

    manager.create_agent(session, kept)

    assert {"mood": "calm"} == agent_of(daemon, session).state.get()


BLOCKS: list[Json] = [
    {"text": "words"},
    {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
    {"reasoningContent": {"redactedContent": {"__bytes_encoded__": True, "data": "QUJD"}}},
    {"document": {"format": "docx", "name": "a", "source": {"bytes": {"__bytes_encoded__": True, "data": "QUJD"}}}},
    {"document": {"format": "md", "name": "a", "source": {"location": {"type": "s3", "uri": "s3://bucket/a"}}}},
    {"video": {"format": "mp4", "source": {"bytes": {"__bytes_encoded__": True, "data": "QUJD"}}}},
    {"guardContent": {"text": {"text": "guarded", "qualifiers": ["query"]}}},
    {"cachePoint": {"type": "default"}},
    {"citationsContent": {"content": [{"text": "said "}, {"text": "elsewhere"}], "citations": []}},
    {"toolUse": {"toolUseId": "c1", "name": "n", "input": {}}},
    {"toolUse": {"toolUseId": "", "name": "n", "input": {}}},
    {"toolResult": {"toolUseId": "c1", "status": "error", "content": [{"json": {"a": 1}}, {"text": "b"}]}},
    {"a newer one": {"x": 1}},
]


@pytest.mark.parametrize("block", BLOCKS)
def test_every_block(
    block: Json, repository: ReelSessionRepository, client: Client, daemon: Daemon, session: str
) -> None:
    """A block of any kind is stored, is a valid message for others, and comes back as it was."""
    agent_of(daemon, session)
    role = "user" if "toolResult" in block else "assistant"
    stored = SessionMessage.from_dict({"message": {"role": role, "content": [block]}, "message_id": 0})

    repository.create_message(session, "default", stored)

    assert [stored] == repository.list_messages(session, "default")
    assert 1 == len([*client.iter_messages(name_of(session))])


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if block.keys() & {"text", "toolResult", "document", "video"}]
)
def test_blocks_of_others(block: Json) -> None:
    """What another client says is read as the framework would have stored it."""
    (made,) = messages_of({"message": {"role": "user", "content": [block]}})
    result = block.get("toolResult")
    if result is not None:  # JSON is text for others
        result = {**result, "content": [{"text": json.dumps({"a": 1})}, {"text": "b"}]}

    assert [block if result is None else {"toolResult": result}] == content_of(made)


def test_requests_of_a_turn(daemon: Daemon, client: Client, session: str) -> None:
    """A turn is an add for each message and one for what changed beside them; nothing is read, unless others wrote."""

    def counts() -> dict[str, int]:
        found = client.stats()["request_seconds"]
        return {method: sum(found[method]["counts"]) for method in ("add", "state") if method in found}

    def asked(words_of_user: str) -> tuple[int, int]:
        before = counts()
        first(words_of_user)
        after = counts()
        return after["add"] - before["add"], after.get("state", 0) - before.get("state", 0)

    first = agent_of(daemon, session, *(words(str(number)) for number in range(6)))
    for number in range(3):
        first.state.set("mood", f"{number}")
        first(str(number))
    unchanged = asked("nothing beside the conversation changes")
    first.state.set("mood", "glad")
    changed = asked("the state changes")
    client.add(name_of(session), [reel.state("mood", "calm")])
    first.state.set("mood", "glad again")
    beside_others = asked("others have changed it")

    assert [(2, 0), (3, 0), (3, 1)] == [unchanged, changed, beside_others]
    assert "glad again" == client.state(name_of(session), ["mood"]).values[0].value


def test_a_record_of_which_only_the_time_is_new(
    repository: ReelSessionRepository, daemon: Daemon, client: Client, session: str
) -> None:
    """An agent that is stored as it was is not stored again."""
    agent_of(daemon, session, state={"mood": "calm"})
    kept = repository.read_agent(session, "default")
    assert kept is not None
    kept.updated_at = "2030-01-01T00:00:00+00:00"
    before = client.agent(name_of(session)).head

    repository.update_agent(session, kept)

    assert before == client.agent(name_of(session)).head


def test_a_restored_value_is_compared_with_what_is_stored(daemon: Daemon, client: Client, session: str) -> None:
    """What an undo has brought back counts as the stored value, though nobody has written it since."""
    first = agent_of(daemon, session, words("a"), words("b"), words("c"), state={"mood": "calm"})
    first("x")
    first.state.set("mood", "glad")
    first("y")
    client.add(name_of(session), [reel.state("mood", "calm")])
    first.state.set("mood", "calm")
    first.state.set("mood", "glad")
    first("z")

    assert "calm" == client.state(name_of(session), ["mood"]).values[0].value
