"""What was redacted in the log stays so, whatever the source of it says again."""

import json
from pathlib import Path
from typing import Any

import pytest

from reel import requests
from reel.importing.adding.redactions import may_be
from reel.importing.adding.target import CLIENT
from reel.importing.sources import unfinished
from reel.providers.blocks import text
from reel.sync.client import Client
from tests.reel.importing.adding.test_growing import STORIES, Import
from tests.reel.importing.tools import test_crush
from tests.reel.importing.transcripts import Transcript, call

SECRET = "hunter2"
GONE = "[redacted 2026-11-29 21:30 UTC by me]"
# What each answer that is not waited for says in its first parts, and in those that go on.
HALVES = {"crush": ["Hm", "I look.", "Tw"], "opencode": ["0 Tw", "1 Tw"], "vscode-chat": ["Tw"], "kimi-code": ["Hm"]}


class Session:
    """A session of Claude Code with a secret, of which an import sees the beginning first.

    Args:
        client: a client of the daemon.
        root: the directory of the session's file, and of what was imported.
    """

    def __init__(self, client: Client, root: Path) -> None:
        made = Transcript("s").user("u1", "List").answer("a1", f"It is {SECRET}.", "m1").answer("a2", call("c1"), "m1")
        made.result("r1", "c1", SECRET, after="a2")
        self._early = len(made.records)
        made.answer("a3", call("c2"), "m1", after="a2").result("r2", "c2").answer("b1", "Done.", "m2")
        self._lines = made.lines()
        self._client = client
        self._root = root
        self._import = Import(client, "claude-code", root, root / "seen")

    def begin(self) -> None:
        """Import the beginning."""
        self.import_(self._early)

    def go_on(self) -> None:
        """Import the whole session."""
        self.import_(len(self._lines))

    def import_(self, lines: int, directory: str = "p") -> None:
        """Import so many lines of the session, in a directory."""
        path = self._root / directory / "s.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(self._lines[:lines]))
        self._import.look()

    def redact(self, agent: str, *, by_text: bool) -> None:
        """Redact the secret: where it is found, or the messages that have it."""
        seqs = [event["seq"] for event in self._client.iter_history("claude-code/s") if SECRET in json.dumps(event)]
        self._client.call(requests.redact(agent, **({"text": SECRET} if by_text else {"seqs": seqs})))

    def end(self) -> tuple[list[Any], dict[str, list[str]]]:
        """Purge all conversations; return the events with the secret, and who said something, by conversation."""
        names = [row.name for row in self._client.iter_agents(prefix="claude-code/")]
        events = [event for name in names for event in self._client.iter_history(name)]
        said = {name: [record["kind"] for record in self._client.iter_conversation(name)] for name in names}
        self._import.purge("claude-code/")
        return [event for event in events if SECRET in json.dumps(event)], said


WHOLE = ["user", "assistant", "tool_result", "tool_result", "assistant"]


@pytest.mark.parametrize("by_text", [True, False])
def test_an_older_copy(client: Client, tmp_path: Path, *, by_text: bool) -> None:
    """One that ends inside a redacted answer is known."""
    session = Session(client, tmp_path)
    session.go_on()
    session.redact("claude-code/s", by_text=by_text)
    session.import_(2, "q")

    assert ([], {"claude-code/s": WHOLE}) == session.end()


@pytest.mark.parametrize("by_text", [True, False])
def test_a_conversation_that_was_changed(client: Client, tmp_path: Path, *, by_text: bool) -> None:
    """What goes on beside it says again what is redacted in it."""
    session = Session(client, tmp_path)
    session.begin()
    client.add("claude-code/s", "Thanks")
    session.redact("claude-code/s", by_text=by_text)
    session.go_on()

    secret, said = session.end()
    assert ([], WHOLE) == (secret, said["claude-code/s@2"])


@pytest.mark.parametrize("by_text", [True, False])
def test_a_later_import_of_a_conversation_that_was_changed(client: Client, tmp_path: Path, *, by_text: bool) -> None:
    """What it takes over from the source then is redacted as well, in whichever conversation that was done."""
    made = Transcript("s").user("u1", "List").answer("a1", "Yes.", "m1").user("u2", f"It is {SECRET}.")
    made.answer("a2", "No.", "m2").user("u3", "Again", after="a1").answer("a3", "Done.", "m3")
    path, watch = tmp_path / "s.jsonl", Import(client, "claude-code", tmp_path, tmp_path / "seen")
    for number in (4, 6):
        path.write_text("".join(made.lines()[:number]))
        watch.look()
        if number == 4:
            client.add("claude-code/s", "Thanks")
            seqs = [event["seq"] for event in client.iter_history("claude-code/s") if event.get("ref") == "u2"]
            what: dict[str, Any] = {"text": SECRET} if by_text else {"seqs": seqs}
            client.call(requests.redact("claude-code/s", **what))
    Import(client, "claude-code", tmp_path, tmp_path / "again").look()

    said = [record["content"] for record in client.iter_conversation("claude-code/s@2")]
    events = json.dumps([event for n in ("", "@2") for event in client.iter_history(f"claude-code/s{n}")])
    watch.purge("claude-code/s")
    assert (False, ["List", "Yes.", "Again", "Done."]) == (SECRET in events, said)


def test_an_older_copy_describes_nothing(client: Client, tmp_path: Path) -> None:
    """The tags and the title are those of the file with the newest message, however often both are read."""
    watch, made = Import(client, "claude-code", tmp_path, tmp_path / "seen"), Transcript("s").user("u1", "List")
    for name, model in (("old", "one"), ("new", "two"), ("same", "two")):
        if name != "same":
            made.answer(f"a{model}", "Yes", f"m{model}")
            made.records[-1]["message"]["model"] = model
        (tmp_path / name).mkdir()
        made.write(tmp_path / name / "s.jsonl")
    watch.look()
    before = client.agent("claude-code/s")
    Import(client, "claude-code", tmp_path, tmp_path / "again").look()

    after = client.agent("claude-code/s")
    watch.purge("claude-code/s")
    assert ("two", before.head, before.tags) == (after.tags["model"], after.head, after.tags)


@pytest.mark.parametrize("by_text", [True, False])
def test_a_redaction_in_a_fork(client: Client, tmp_path: Path, *, by_text: bool) -> None:
    """One of what it inherited counts where that is from."""
    session = Session(client, tmp_path)
    session.begin()
    client.call(requests.clone("claude-code/s", "claude-code/fork", None))
    session.redact("claude-code/fork", by_text=by_text)
    session.go_on()

    secret, said = session.end()
    assert ([], WHOLE) == (secret, said["claude-code/s"])


def test_a_title_and_tags(client: Client, tmp_path: Path) -> None:
    """Those that were redacted do not follow the source; others do."""
    watch, path = Import(client, "claude-code", tmp_path, tmp_path / "seen"), tmp_path / "s.jsonl"
    for prompt, model in (("u1", "one"), ("u2", "two")):
        made = Transcript("s").user("u1", "List").user("u2", "Again").answer("a1", "Yes", "m1")
        made.record("ai-title", "t1", aiTitle=f"After {prompt}: {SECRET}")
        for record in made.records:
            record["gitBranch"] = f"{SECRET}-{prompt}"
            record.get("message", {}).update({"model": model} if record["type"] == "assistant" else {})
        path.write_text("".join(made.lines()))
        watch.look()
        if prompt == "u1":
            client.call(requests.redact("claude-code/s", text=SECRET))

    agent, events = client.agent("claude-code/s"), json.dumps([*client.iter_history("claude-code/s")])
    watch.purge("claude-code/s")
    assert (False, "two") == (SECRET in events, agent.tags["model"])
    assert (agent.title or "").startswith("After u1: [redacted ")


@pytest.mark.parametrize("by_text", [True, False])
@pytest.mark.parametrize("name", HALVES)
def test_an_answer_that_was_not_waited_for(
    name: str, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, by_text: bool
) -> None:
    """If it goes on in a part that was redacted, nobody can tell which of its words these were: they stay away."""
    monkeypatch.setattr(unfinished, "LEFT", -unfinished.LEFT)
    tool, story = STORIES[name]
    (tmp_path / "root").mkdir()
    watch, gone, back = Import(client, tool, tmp_path / "root", tmp_path / "seen"), set[str](), list[Any]()
    for _ in story(tmp_path / "root", f"redacted-{name}"):
        watch.look()
        for agent in [row.name for row in client.iter_agents(prefix=f"{tool}/")]:
            for word in HALVES[name]:
                found = [event for event in client.iter_history(agent) if _says(event, word)]
                back += found if word in gone else []
                gone |= {word} if found else set()
                for event in found:
                    what: dict[str, Any] = {"text": word} if by_text else {"seqs": [event["seq"]]}
                    client.call(requests.redact(agent, **what))
    roles = [[record[0] for record in said[2:]] for said in watch.said(f"{tool}/").values()]
    watch.purge(f"{tool}/")
    fresh = Import(client, tool, tmp_path / "root", tmp_path / "fresh")
    fresh.look()
    expected = [[record[0] for record in said[2:]] for said in fresh.said(f"{tool}/").values()]
    fresh.purge(f"{tool}/")

    assert [] == back
    assert set(HALVES[name]) == gone
    assert expected == roles


@pytest.mark.parametrize("end", ["1", "0123456789abcdef"])
def test_the_id_of_an_unfinished_answer(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """It tells nothing of its words. Earlier versions had a digest of these: such an answer is known as well."""
    monkeypatch.setattr(unfinished, "LEFT", -unfinished.LEFT)
    watch, place = Import(client, "crush", tmp_path, tmp_path / "seen"), tmp_path / "deck/.crush/crush.db"
    rows = [test_crush.message("u1", "user", "List", test_crush.end(), session="s", model="m")]
    test_crush.save(place, *rows, test_crush.message("a1", "assistant", "I lo", session="s", model="m"), id="s")
    watch.look()
    (row,) = client.iter_agents(prefix="crush/")
    refs = [event["ref"] for event in client.iter_history(row.name) if event["kind"] == "assistant"]
    watch.purge("crush/")
    with Client(client.path, name=CLIENT) as importer:
        importer.call(requests.create(row.name, tags=row.tags))
        told = [("user", "List", "u1"), ("assistant", "I lo", f"a1~{end}")]
        importer.call(
            requests.append(row.name, [{"role": role, "content": [text(said)], "ref": ref} for role, said, ref in told])
        )
    Import(client, "crush", tmp_path, tmp_path / "again").look()

    said = [event["ref"] for event in client.iter_history(row.name) if event.get("ref")]
    watch.purge("crush/")
    assert (["a1~1"], ["u1", f"a1~{end}"]) == (refs, said)


def _says(event: Any, word: str) -> bool:
    return event["kind"] == "assistant" and word in json.dumps([event["content"], event["data_json"]])


@pytest.mark.parametrize(
    ("said", "stored", "expected"),
    [
        ("It is hunter2.", f"It is {GONE}.", True),
        ("It was hunter2.", f"It is {GONE}.", False),
        ("It is hunter2.", GONE, True),
        ("It is hunter2.", "It is.", False),
    ],
)
def test_what_a_message_may_have_been(said: str, stored: str, expected: bool) -> None:
    """Its words are those that the log has, with something in the place of each marker."""
    assert expected is may_be([text(said)], [text(stored)])
