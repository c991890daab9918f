"""The log of an agent, read as a transcript of Claude Code."""

from typing import Any

from reel.base.strict_json import encode
from reel.importing.steps import Compacted, Kept, Said
from reel.importing.tools.claude_code.entries import steps_of
from reel.importing.tools.claude_code.thread import Thread
from reel.importing.tools.claude_code.transcripts import Transcript
from reeld.core.validation import rows_from

Json = dict[str, Any]
OWN = "claude-agent-sdk"


class Log:
    """A log that is made event by event."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.tip: int | None = None
        self.command = 0

    def event(self, kind: str, client: str = OWN, ref: str = "", **fields: Any) -> int:
        """Write an event into the command that was begun last."""
        seq = len(self.events) + 1
        parent = None if self.tip is None else {"agent": "a", "seq": self.tip}
        found: Json = {"content": None, "data_json": None, **fields, "client": client}
        found |= {"seq": seq, "agent": "a", "command": self.command, "kind": kind, "parent": parent, "time": 0}
        self.events.append(found | ({"ref": ref} if ref else {}))
        return seq

    def said(self, text: str, role: str = "user", client: str = "nvim") -> int:
        """Add a message that is no entry."""
        self.command += 1
        self.tip = self.event(role, client, content=text)
        return self.tip

    def entries(self, *entries: Json, parts: int | None = None) -> int:
        """Add entries in one command, or only so many of their messages."""
        self.command += 1
        for entry in entries:
            ref = entry.get("uuid") or f"ref-{len(self.events)}"
            for step in list(steps_of(entry, ref, Thread()))[:parts]:
                said = step.summary if isinstance(step, Compacted) else step
                if isinstance(said, Said):
                    (part,) = said.parts
                    element = {"role": said.role, "content": part.blocks, "provider_metadata": said.metadata}
                    row = rows_from([element])[0][0].row
                    self.tip = self.event(row.kind, ref=part.ref, content=row.content, data_json=row.data_json)
                elif isinstance(step, Kept):
                    self.event(step.kind, ref=step.ref, data_json=encode(step.data))
        return len(self.events)

    def go(self, to: int | None, client: str = "nvim", kind: str = "restore") -> None:
        """Go to a place."""
        self.command += 1
        self.tip = to
        self.event(kind, client)

    def transcript(self) -> Transcript:
        return Transcript(self.events, OWN, lambda _: [])

    def uuids(self) -> list[str]:
        """Return the ids of the entries, those of others by what they say."""
        return [shown(entry) for entry in self.loaded()]

    def loaded(self) -> list[Json]:
        texts = {event["seq"]: event["content"] for event in self.events}
        return self.transcript().entries(lambda seq: [{"role": "user", "content": texts[seq]}])


def shown(entry: Json) -> str:
    return entry["uuid"] if len(entry.get("uuid", "")) < 5 else str(entry["message"]["content"])


def user(uuid: str, parent: str | None = None, **fields: Any) -> Json:
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "message": {"content": f"I am {uuid}."}, **fields}


def note(uuid: str, parent: str | None = None) -> Json:
    return {"type": "system", "uuid": uuid, "parentUuid": parent, "subtype": "turn_duration"}


BOTH: Json = {
    "type": "user",
    "uuid": "b",
    "parentUuid": "u1",
    "message": {"content": [{"type": "tool_result", "tool_use_id": "c1", "content": "done"}, "And go on."]},
}


def test_own_branches_stay() -> None:
    """What Claude Code left stays in the transcript; what somebody else took back does not, unless it is back."""
    log = Log()
    first = log.entries(user("u1"))
    second = log.entries(user("u2", "u1"))
    log.go(first, OWN, "rewind")
    third = log.entries(user("u3", "u1"))
    assert ["u1", "u2", "u3"] == log.uuids()

    log.go(second)
    assert ["u1", "u2"] == log.uuids()
    log.go(first)
    assert ["u1"] == log.uuids()
    log.go(None, kind="clear")
    assert [] == log.uuids()
    log.go(third)
    assert ["u1", "u3"] == log.uuids()


def test_notes_go_with_their_command() -> None:
    """A note is taken back with the messages of its command, and stays if it was added by itself."""
    log = Log()
    first = log.entries(user("u1"), note("n1", "u1"))
    log.entries(note("n2", "n1"))
    log.entries(user("u2", "n2"), note("n3", "u2"))
    log.go(first - 1)

    assert ["u1", "n1", "n2"] == log.uuids()


def test_an_entry_of_several_messages() -> None:
    """It is an entry when all of its messages are there; until then they are messages like those of others."""
    log = Log()
    log.entries(user("u1"))
    log.entries(BOTH, parts=1)
    assert 2 == len(log.uuids())
    begun = log.events.pop()

    log.entries(BOTH)
    assert log.loaded() == [user("u1"), BOTH]
    log.events.insert(1, begun | {"seq": 99})
    assert log.transcript().own_entries() == [user("u1"), BOTH]


def test_what_others_add_comes_before_the_next_prompt() -> None:
    """Results and answers stay beside what they follow; without a prompt, it comes at the end."""
    log = Log()
    log.entries(user("u1"))
    log.said("Hurry up.")
    log.said("Please.")
    result = {**BOTH, "uuid": "r", "message": {"content": BOTH["message"]["content"][:1]}}
    log.entries(result)
    assert ["u1", "r", "Hurry up.", "Please."] == log.uuids()

    log.entries(user("u2", "r"))
    loaded = log.loaded()
    assert ["u1", "r", "Hurry up.", "Please.", "u2"] == [shown(entry) for entry in loaded]
    assert [entry["parentUuid"] for entry in loaded[1:]] == ["u1", "r", *(entry["uuid"] for entry in loaded[2:4])]


def test_what_knows_what_others_added() -> None:
    """An entry that follows what somebody else added comes back as it was."""
    log = Log()
    log.entries(user("u1"))
    log.said("Hurry up.")
    added = log.loaded()[-1]
    log.entries(user("u2", added["uuid"]))

    assert log.loaded() == [user("u1"), added, user("u2", added["uuid"])]


def test_several_items_and_none() -> None:
    """A message of somebody else may be several entries, of which the last has its id, or none."""
    log = Log()
    log.said("A")
    log.said("B")
    items = {1: [], 2: [{"role": "user", "content": "B1"}, {"role": "assistant", "content": "B2"}]}

    one, two = log.transcript().entries(lambda seq: items[seq])

    assert (one["parentUuid"], two["parentUuid"]) == (None, one["uuid"])
    assert [1, 2] == list(log.transcript().places().values())
    assert list(log.transcript().places())[1] == two["uuid"]


def test_what_follows_something_lost() -> None:
    """An entry whose predecessor was taken back follows the last one that is left."""
    log = Log()
    first = log.entries(user("u1"))
    log.entries(user("u2", "u1"), note("n1", "u2"))
    log.go(first)
    log.entries(user("u3", "n1"))
    log.entries(user("u4", "unknown"))

    assert log.loaded() == [user("u1"), user("u3", "u1"), user("u4", "unknown")]


def test_copies() -> None:
    """What stays beside a summary is in the log again, and in the transcript once; its place is that of the copy."""
    log = Log()
    log.entries(user("u1"))
    log.go(None, OWN, "rewind")
    log.entries(user("s1", isCompactSummary=True))
    copy = log.entries(user("u1"))
    log.events[-1]["ref"] = "u1@s1"

    assert ["u1", "s1"] == log.uuids()
    assert {"u1": copy} == log.transcript().places()


def test_the_prompt_of_the_system() -> None:
    """A prompt of the system at the beginning is known as such, and is no entry; nor are marks and other notes."""
    log = Log()
    log.said("Be brief.", "system")
    log.entries(user("u1"))
    log.event("mark")
    log.event("note", data_json='{"x": 1}')
    log.event("user", data_json="not JSON")

    assert 1 == log.transcript().base
    assert ["u1"] == log.uuids()


def test_going_on() -> None:
    """The conversation that was read goes on after its last message, whoever added that."""
    log = Log()
    log.entries(user("u1"))
    log.said("Hurry up.")
    thread = log.transcript().thread()

    steps = list(steps_of(user("u2", "u1"), "u2", thread))

    assert [Said] == [type(step) for step in steps]
    assert thread.knows(log.loaded()[-1]["uuid"])
