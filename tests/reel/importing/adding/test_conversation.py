"""The commands that become of steps, whichever tool they are from, without a daemon."""

# ruff: noqa: ARG002 - a book has the parameters of the protocol, whichever it needs

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from types import SimpleNamespace
from typing import Any

import pytest

from reel.base.errors import Conflict, InvalidMessage, InvalidParams, ReelError
from reel.base.strict_json import Json
from reel.importing.adding import stretch
from reel.importing.adding.conversation import Conversation
from reel.importing.adding.described import TAG
from reel.importing.adding.log import Log
from reel.importing.adding.stored import Stored
from reel.importing.adding.target import CLIENT, Target
from reel.importing.steps import About, Back, Compacted, Kept, Middle, Part, Said, Source, Step
from reel.replies import AgentRow
from reel.requests import Call

SOURCE = Source("/history", "tool/demo", 1, 1)


def _words_of(event: Any) -> str:
    return str(event["content"][0]["text"] if "role" in event else event["kind"])


def _shown(command: list[Any], head: int) -> str:
    """Return a command of a stretch in a few words."""
    data = json.loads(command[0].get("data_json") or "{}")
    if command[0]["kind" if "kind" in command[0] else "role"] == "restore":
        return f"restore {data['to']} over {head}"
    words = [_words_of(event) for event in command if event.get("kind") != "rewind"]
    where = f" from {data['before']}" if command[0].get("kind") == "rewind" else ""
    return f"add {'+'.join(words)} over {head}{where}"


class Book:
    """Notes each command in a few words, and answers as a daemon does whose only writer is the importer.

    Args:
        refused: a text that no message may have.
        elsewhere: how many events somebody else writes with each command.
        log: the events of a clone.
        message: what is read instead of a message of the user.
        pruned: states that cannot be brought back.
    """

    def __init__(
        self,
        refused: str = "-",
        elsewhere: int = 0,
        log: Sequence[Any] = (),
        message: Json | None = None,
        pruned: Sequence[int] = (),
    ) -> None:
        self.commands: list[str] = []
        self.features = {"clone_sent"}
        self.tags: list[dict[str, str]] = []
        # How many events each stretch had.
        self.stretches: list[int] = []
        self._refused = refused
        self._elsewhere = elsewhere
        self._log = log
        self._message = message or {}
        self._pruned = pruned

    def submit(self, call: Call[Any], take: Any) -> None:
        """Carry out a command."""
        try:
            take(self.call(call))
        except ReelError as error:
            take(error)

    def call(self, call: Call[Any]) -> Any:
        """Carry out a request."""
        return getattr(self, f"_{call.method}")(**call.params)

    def knows(self, feature: str) -> bool:
        """Return whether the daemon has a feature."""
        return feature in self.features

    def pages(self, call: Call[Any]) -> Iterator[Any]:
        """Yield the only page of the log."""
        yield SimpleNamespace(events=self._log)

    def _create(self, agent: str, tags: dict[str, str], title: str = "") -> Any:
        self.commands.append(f"create {agent} {title}".rstrip())
        self.tags.append(tags)
        return SimpleNamespace(id="a1", name=agent, title=title, tags=tags, head=1)

    def _clone(self, agent: str, name: str, at: int, sent: int | None = None) -> Any:
        self.commands.append(f"clone {agent}@{at} {name}" + (f" sent {sent}" if sent else ""))
        return SimpleNamespace(id="a2", name=name, title="Theirs", tags={}, head=1)

    def _append(self, agent: str, events: Sequence[Any], if_seq: int) -> Any:
        if self._refused in map(_words_of, events):
            raise InvalidMessage("it is refused")
        self.stretches.append(len(events))
        head = if_seq
        for number, found in groupby(events, lambda event: event["command"]):
            command = list(found)
            assert head + 1 == number
            self.commands.append(f"{_shown(command, head)}")
            head += len(command)
        return SimpleNamespace(first=if_seq + 1, head=head + self._elsewhere)

    def _change(self, agent: str, tags: dict[str, str], title: str = "") -> Any:
        self.commands.append(f"change {title}".rstrip())
        self.tags.append(tags)

    def _history(self, agent: str, since: int, limit: int, inherited: bool) -> Any:
        event = {"seq": since + 1, "kind": "system", "content": f"log-{since + 1}", "data_json": None}
        return SimpleNamespace(events=[event])

    def _messages(self, agent: str, limit: int, at: int, since: int = 0) -> Any:
        if at in self._pruned:
            raise InvalidParams("at: it cannot be brought back")
        self.commands.append(f"read {at}")
        said = {
            "role": "user",
            "content": [{"type": "text", "text": f"again-{at}"}],
            "provider_metadata": {},
            "time": 0,
        }
        return SimpleNamespace(messages=[said | self._message])


def said(*refs: str, role: str = "user", line: int = 0) -> Said:
    """Return a message of so many parts, each of which says its id."""
    return Said(role, tuple(Part(ref, [{"type": "text", "text": ref}]) for ref in refs), {}, None, line)


def answer(*refs: str) -> Said:
    """Return a message of an assistant."""
    return said(*refs, role="assistant")


def note(ref: str) -> Kept:
    """Return a record for the log only."""
    return Kept("note", ref, ref, {}, None)


def read(*steps: Step, book: Book | None = None, target: Target | None = None, careful: bool = False) -> Conversation:
    """Return a conversation that has taken steps."""
    made = Conversation(
        book or Book(), SOURCE, "tool/demo", target or Target("tool/demo", None, Log()), careful=careful
    )
    for step in steps:
        made.take(step)
    made.finish()
    return made


def commands(*steps: Step, **how: Any) -> list[str]:
    """Return the commands that become of steps, without the description at the end."""
    book = Book()
    read(*steps, book=book, **how)
    return [command for command in book.commands if not command.startswith("change")]


def existing(*refs: str, stored: Stored | None = None) -> Target:
    """Return an agent with a message for each id, whose seqs begin with 2; an id with an a is that of an answer."""
    log = Log()
    log.head, log.is_answered = 1, any(ref.startswith("a") for ref in refs)
    for seq, ref in enumerate(refs, 2):
        log.add(seq, seq, ref, is_message=True)
    row = AgentRow("a1", "tool/demo", "Title", {TAG: "tool/demo"}, True, log.head, 0, 0)
    return Target("tool/demo", row, log, stored=stored)


def test_a_turn_is_one_command() -> None:
    """A prompt ends what was collected before, unless nothing was said: turns are what an undo takes back."""
    assert ["create tool/demo", "add u1+a1 over 1", "add u2+a2+t2 over 3"] == commands(
        said("u1"), answer("a1"), said("u2"), answer("a2"), said("t2", role="tool")
    )


def test_nothing_said() -> None:
    """No agent is made for a source that says nothing, even if it has records for the log."""
    assert [] == commands(About(title="T"), note("n1"))


def test_what_the_agent_is_called() -> None:
    """Title and tags are those of the last step that names them, and one tag says where the agent is from."""
    book = Book()
    read(About(title="Early", tags={"cwd": "/a"}), said("u1"), About(title="Late", tags={"cwd": "/b"}), book=book)

    assert ["create tool/demo Late", "add u1 over 1"] == book.commands
    assert [{TAG: "tool/demo", "cwd": "/b"}] == book.tags


def test_what_the_agent_is_called_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known once something was sent is told at the end."""
    monkeypatch.setattr(stretch, "MOST", 3)
    book = Book()
    first, last = About(tags={"cwd": "/a"}), About(title="Late", tags={"cwd": "/b"})
    read(first, said("u1"), said("u2"), said("u3"), last, book=book)

    assert ["create tool/demo", "change Late"] == [book.commands[0], book.commands[-1]]
    assert [{TAG: "tool/demo", "cwd": cwd} for cwd in ("/a", "/b")] == book.tags


def test_going_back() -> None:
    """The next message replaces what follows the one to which the source went back; all is in the log."""
    assert ["create tool/demo", "add u1+a1 over 1", "add u2+a2 over 3", "add u3 over 5 from 4"] == commands(
        said("u1"), answer("a1"), said("u2"), answer("a2"), Back("a1"), said("u3")
    )


def test_going_back_to_the_beginning() -> None:
    """The prompt keeps its place, and everything after it is replaced."""
    assert ["create tool/demo", "add p over 1", "add u1 over 2", "add u2 over 3 from 3"] == commands(
        said("p", role="system"), said("u1"), Back(""), said("u2")
    )


def test_going_back_within_a_command() -> None:
    """What stands in the middle of a command ends it, when it is gone back to."""
    assert ["create tool/demo", "add u1+a1+a2 over 1", "add a3 over 4 from 4"] == commands(
        said("u1"), answer("a1"), answer("a2"), Back("a1"), answer("a3")
    )


def test_going_back_to_what_was_pruned() -> None:
    """A new message follows the last one that is left. A step back to a pruned message at the end does nothing."""
    steps: list[Step] = [said("u1"), said("u2"), Back("u1"), said("u3"), Back("u2")]
    target = existing("u1", "u2")
    assert ["add u3 over 3 from 3", "restore 3 over 5"] == commands(*steps, target=target)[1:]
    commands(*steps[:3], said("u3"), target=target)
    target.log.is_pruned = True

    for following, expected in ((), []), ((said("u4"),), ["add u4 over 7 from 5"]):
        book = Book(pruned=[3])
        read(*steps, *following, book=book, target=target)
        assert expected == [one for one in book.commands if not one.startswith(("change", "read"))]


def test_going_back_at_the_end() -> None:
    """Without a message after it, a restore goes back, if a command ended there."""
    assert ["create tool/demo", "add u1 over 1", "add u2 over 2", "restore 2 over 3"] == commands(
        said("u1"), said("u2"), Back("u1")
    )


def test_a_summary() -> None:
    """It replaces the conversation; what is kept beside it is said again, with the summary at its place."""
    assert [
        "create tool/demo",
        "add u1 over 1",
        "add u2 over 2",
        "add s over 3 from 2",
        "read 3",
        "add again-3 over 5",
        "add u3 over 6",
    ] == commands(said("u1"), said("u2"), Compacted(said("s"), kept=("u2", "gone")), said("u3"))


def test_what_is_there_already() -> None:
    """A message that was imported is not sent again; what is new comes after the last one."""
    book = Book()
    made = read(said("u1"), answer("a1"), said("u2"), book=book, target=existing("u1", "a1"))

    assert ["add u2 over 3"] == book.commands
    assert (2, 1, "") == (made.known, made.writer.added, made.writer.made)


def test_a_message_that_has_grown() -> None:
    """A message of which only the first parts are in the log takes their place as a whole, in one command."""
    book = Book()
    made = read(answer("p1", "p2", "p3"), said("u1"), book=book, target=existing("p2"))

    assert ["add p1 over 2 from 2", "add u1 over 4"] == book.commands
    assert (2, 0) == (made.writer.added, made.known)


def test_a_message_that_an_earlier_version_stored_in_pieces() -> None:
    """It stays so; if it has grown again, the whole takes the place of all pieces."""
    assert [] == commands(said("u1"), answer("p1", "p2"), target=existing("u1", "p1", "p2"))
    assert ["add p1 over 4 from 3"] == commands(said("u1"), answer("p1", "p2", "p3"), target=existing("u1", "p1", "p2"))


def test_what_followed_a_message_that_has_grown() -> None:
    """It is said again after the whole message, and known there later; so is what comes between its last parts."""
    calls = said("u1"), answer("c1", "c2"), said("r1", role="tool"), said("r2", role="tool")
    target = existing("u1", "c1", "r1")
    log = target.log

    assert ["read 4", "add c1+r1+r2 over 4 from 3"] == commands(*calls, target=target)
    assert {"c2": 6, "r1@c2": 7, "r2": 8} == {ref: log.place_of(ref) for ref in ("c2", "r1@c2", "r2")}
    assert [] == commands(*calls, target=target)
    assert ["add u2 over 8"] == commands(*calls, said("u2"), target=target)


def test_a_message_that_has_grown_again() -> None:
    """What followed it at any time follows it now."""
    steps = [said("u1"), answer("c1"), said("r1", role="tool"), answer("c2"), said("r2", role="tool")]
    target = existing("u1", "c1", "r1")
    for parts in (("c1", "c2"), ("c1", "c2", "c3")):
        commands(steps[0], answer(*parts), steps[2], steps[4], target=target)

    assert [] == commands(said("u1"), answer("c1", "c2", "c3"), steps[2], steps[4], target=target)
    path = [place for _, place in target.log.tree.path(target.log.tree.tip)]
    assert path == [target.log.place_of(ref) for ref in ("r2@c3", "r1@c3", "c3", "u1")]


def test_a_copy_that_ends_in_a_message_that_has_grown() -> None:
    """An older copy of it takes nothing back, whichever of its parts it has."""
    target = existing("u1", "p1")
    commands(said("u1"), answer("p1", "p2", "p3"), target=target)
    whole = [{"type": "text", "text": ref} for ref in ("p1", "p2", "p3")]
    for parts in (("p1",), ("p1", "p2")):
        book = Book(message={"role": "assistant", "content": whole})
        read(said("u1"), answer(*parts), book=book, target=target)

        assert [] == [command for command in book.commands if not command.startswith(("change", "read"))]


def test_a_message_that_has_grown_and_that_somebody_followed() -> None:
    """What others said after its first parts stays in their conversation; the clone has the whole message."""
    log = existing("u1", "p1").log
    u1 = {"seq": 2, "kind": "user", "parent": None, "command": 2, "client": CLIENT, "ref": "u1"}
    cloned = {"seq": 3, "kind": "clone", "parent": {"agent": "a1", "seq": 2}, "command": 3, "client": CLIENT}
    target = Target("tool/demo@2", None, log, "a1")

    book = Book(log=[u1, cloned])
    read(said("u1"), answer("p1", "p2"), book=book, target=target)

    assert ["clone a1@2 tool/demo@2", "add p1 over 3"] == book.commands[:2]


def test_a_message_that_has_grown_and_is_refused() -> None:
    """Its first parts stay, and what comes next follows them."""
    log: list[Any] = [{"seq": 1, "kind": "created", "parent": None, "command": 1, "client": CLIENT}]
    for seq, (kind, ref) in enumerate((("user", "u1"), ("assistant", "p1")), 2):
        parent = {"agent": "a1", "seq": seq - 1} if seq > 2 else None
        log.append({"seq": seq, "kind": kind, "parent": parent, "command": seq, "client": CLIENT, "ref": ref})
    book, target = Book(refused="p1", log=log), existing("u1", "p1")
    made = read(said("u1"), answer("p1", "p2"), said("u2"), book=book, target=target, careful=True)

    assert ["/history: not imported: it is refused"] == [str(problem) for problem in made.writer.problems]
    assert ["add u2 over 3"] == [command for command in book.commands if command.startswith("add")]


def test_a_message_that_has_grown_after_a_redaction() -> None:
    """What the log says of it stays, and so do its parts if nobody can tell which of them the log has."""
    target = existing("p1", "u1")
    target.log.is_redacted = True

    made = commands(answer("p1", "p2"), said("u1"), target=target)
    assert ["read 3", "add log-2 over 3 from 2", "add log-3 over 5"] == made
    target = existing("p2")
    target.log.is_redacted = True
    assert ["add p3 over 2"] == commands(answer("p1", "p2", "p3"), target=target)
    assert ["add p4 over 3"] == commands(answer("p1", "p2", "p3", "p4"), target=target)


def test_a_message_after_an_older_one() -> None:
    """It goes on where the source does, not where the log ends, and replaces what is there."""
    assert ["read 3", "add u3 over 3 from 3"] == commands(said("u1"), said("u3"), target=existing("u1", "u2"))


def test_a_source_that_was_cut() -> None:
    """Without the newest message, it is an older state of the conversation, and nothing is taken back."""
    assert [] == commands(said("u1"), target=existing("u1", "u2"))


def test_a_source_that_was_cut_in_a_message() -> None:
    """The first parts of a message that is in the log as a whole are known, and take nothing back."""
    whole = [{"type": "text", "text": "p1"}, {"type": "text", "text": "p2"}]
    for parts, expected in (
        (("p1",), []),
        (("p2",), ["add p2 over 3 from 3"]),
        (("p1", "p2"), ["add p1 over 3 from 3"]),
    ):
        book = Book(message={"role": "assistant", "content": whole})

        read(said("u1"), answer(*parts), book=book, target=existing("u1", "p3"))

        assert ["read 3", *expected] == [command for command in book.commands if not command.startswith("change")]


def test_a_source_that_begins_in_the_middle() -> None:
    """What follows a message that the source does not have goes on there, or at the end if nobody knows it."""
    target = existing("u1", "u2")

    assert ["add u3 over 3"] == commands(Middle("u2"), said("u3"), target=target)
    assert ["add u3 over 3"] == commands(Middle("gone"), said("u3"), target=existing("u1", "u2"))
    assert ["create tool/demo", "add u3 over 1"] == commands(Middle("gone"), said("u3"))


def test_a_source_that_went_back() -> None:
    """With the newest message, a step back is taken over."""
    assert ["restore 2 over 3"] == commands(said("u1"), said("u2"), Back("u1"), target=existing("u1", "u2"))


def test_a_place_that_says_something_else() -> None:
    """If messages are known by their position, one that was edited is reported with its line."""
    stored = Stored()
    log = [{"kind": "user", "ref": "u1", "content": "Hi", "data_json": None}]
    assert log == list(stored.note(log))

    assert [7] == read(said("u1", line=7), target=existing("u1", stored=stored)).changed
    assert [] == read(said("u1", line=7), target=existing("u1")).changed


def test_a_title_of_ones_own() -> None:
    """An agent that has a title keeps it; other tags stay, too."""
    book = Book()
    read(About(title="Theirs", tags={"cwd": "/a"}), said("u1"), book=book, target=existing("u1"))

    assert ["change"] == book.commands
    assert [{TAG: "tool/demo", "cwd": "/a"}] == book.tags


def test_a_fork() -> None:
    """It is a clone of its origin at the last message that both have, with a title of its own."""
    u1 = {"seq": 2, "kind": "user", "parent": None, "command": 2, "client": CLIENT, "ref": "u1"}
    cloned = {"seq": 3, "kind": "clone", "parent": {"agent": "a1", "seq": 2}, "command": 3, "client": CLIENT}
    book, target = Book(log=[u1, cloned]), Target("fork", None, existing("u1", "u2").log, "a1", is_fork=True)
    made = read(About(title="Mine"), said("u1"), said("f1"), book=book, target=target)

    assert ["clone a1@2 fork", "add f1 over 3", "change Mine"] == book.commands
    assert ("fork", "a2") == (made.writer.made, made.writer.agent)


def test_a_fork_that_says_nothing_of_its_own() -> None:
    """It is a clone all the same: the tool made one."""
    target = Target("fork", None, existing("u1", "u2").log, "a1", is_fork=True)

    assert ["clone a1@2 fork"] == commands(said("u1"), target=target)


def test_a_fork_is_as_old_as_what_it_says() -> None:
    """Without a message of its own it is as old as the last one of its origin, if the daemon knows that."""
    early, late = said("u1")._replace(sent=5), said("u2")._replace(sent=7)
    for features, expected in (({"clone_sent"}, "clone a1@3 fork sent 7"), (set[str](), "clone a1@3 fork")):
        book = Book()
        book.features = features

        read(early, late, book=book, target=Target("fork", None, existing("u1", "u2").log, "a1", is_fork=True))

        assert expected == book.commands[0]


def test_many_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stretch has at most so many messages, and at most so many bytes; a command does not go on in the next one."""
    monkeypatch.setattr(stretch, "MOST", 3)
    by_number = commands(*(answer(f"a{number}") for number in range(5)))
    monkeypatch.setattr(stretch, "BYTES", 100)
    by_size = commands(answer("x" * 60), answer("y" * 60))

    assert ["add a0+a1 over 1", "add a2+a3 over 3", "add a4 over 5"] == by_number[1:]
    assert [f"add {'x' * 60} over 1", f"add {'y' * 60} over 2"] == by_size[1:]


def test_a_message_that_is_refused() -> None:
    """Nothing of its stretch is written, nor what comes after it. The failure is for the report."""
    book = Book(refused="u2")
    made = read(said("u1"), said("u2"), said("u3"), book=book)

    assert ["create tool/demo"] == book.commands
    assert isinstance(made.writer.failure, InvalidMessage)


def test_a_careful_second_try() -> None:
    """One message after the other: only the refused one is left out, and its line is reported."""
    log = [
        {"seq": seq, "command": seq, "kind": kind, "parent": None, "client": CLIENT, "ref": ref}
        for seq, kind, ref in ((1, "created", None), (2, "user", "u1"))
    ]
    book = Book(refused="u2", log=log)
    made = read(said("u1"), said("u2", line=7), book=book, careful=True)

    assert ["create tool/demo", "add u1 over 1"] == book.commands
    assert ["/history:7: not imported: it is refused"] == [str(problem) for problem in made.writer.problems]
    assert made.writer.failure is None


def test_somebody_else_writes_meanwhile() -> None:
    """Other seqs than expected are a conflict, which the report says."""
    made = read(said("u1"), book=Book(elsewhere=1))

    assert isinstance(made.writer.failure, Conflict)


def test_going_on_at_the_end() -> None:
    """An existing conversation goes on with what comes next, whose messages are known by their places."""
    book, target = Book(), existing("u1", "u2")
    made = Conversation(book, SOURCE, "tool/demo", target)
    made.go_on(None, {"copy": 2})
    for step in (said("u3"), Back("copy"), said("u4")):
        made.take(step)
    made.finish()

    assert ["add u3 over 3", "add u4 over 4 from 3"] == book.commands[:2]


def test_the_name_of_the_importer() -> None:
    """By this name it knows its own events again, in databases that older versions have filled."""
    assert ("reel import", "import") == (CLIENT, TAG)


def test_a_prompt_that_is_found_later() -> None:
    """A prompt for the beginning takes the place of no answer: it comes before the next new message, if one comes."""
    prompt = said("p", role="system")

    assert [] == commands(prompt, said("u1"), answer("a1"), target=existing("u1", "a1"))
    assert ["add p over 3", "add u2+a2 over 4"] == commands(
        prompt, said("u1"), answer("a1"), said("u2"), answer("a2"), target=existing("u1", "a1")
    )


def test_a_prompt_that_is_found_before_an_answer() -> None:
    """What was imported without it is said again after it, and known there later; so it is if the prompt changes."""
    target = existing("u1")
    first, second = ((prompt, said("u1"), said("u2"), prompt) for prompt in (said(p, role="system") for p in "pq"))

    assert ["add p over 2 from 2", "add u1 over 4", "add u2 over 5"] == commands(*first, target=target)
    assert [] == commands(*first, target=target)
    assert ["add q over 6 from 4", "add u1 over 8", "add u2 over 9"] == commands(*second, target=target)
    assert ["add a1 over 10"] == commands(*second, answer("a1"), target=target)
    again = said("u1"), Back(""), said("p", role="system"), said("u2")
    assert ["read 2", "add p over 2 from 2", "add u2 over 4"] == commands(*again, target=existing("u1"))


def test_a_prompt_alone() -> None:
    """No agent is made of it: a session that was opened and left has nothing else."""
    assert [] == commands(said("p", role="system"))
    assert ["create tool/demo", "add p over 1", "add u1 over 2"] == commands(said("p", role="system"), said("u1"))


def test_a_prompt_that_is_known_is_still_the_beginning() -> None:
    """A summary comes after the prompt that the log begins with, also if that was imported before."""
    steps: list[Step] = [
        said("p", role="system"),
        said("u1"),
        said("p", role="system"),
        Compacted(said("s")),
        answer("a1"),
    ]

    assert ["create tool/demo", "add p over 1", "add u1 over 2", "add s+a1 over 3 from 3"] == commands(*steps)
    assert ["read 3", "add s+a1 over 3 from 3"] == commands(*steps, target=existing("p", "u1"))


def test_a_prompt_in_the_middle_stays_beside_a_summary() -> None:
    """A summary replaces what is before it, also the prompt: a copy of that comes first, and is known the next time."""
    steps: list[Step] = [said("u1"), said("p", role="system"), answer("a1"), Compacted(said("s")), said("u2")]
    again = [*steps[:2], Back("u1"), *steps[2:]]

    assert ["add p over 4 from 2", "add s over 6", "add u2 over 7"] == commands(*steps)[-3:]
    assert ["add a1 over 3 from 3", "add s over 5 from 2", "add u2 over 7"] == commands(*again)[-3:]
    assert [] == commands(*steps, target=existing("u1", "p", "a1", "p@s", "s", "u2"))
