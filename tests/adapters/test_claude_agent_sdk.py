"""A transcript of the Claude Agent SDK is an agent: its entries come back as they were, whoever else writes."""

import asyncio
import json
import math
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

import reel
from reel.base.errors import InvalidMessage, InvalidParams, Killed, NothingToUndo, NotRunning, TooLarge
from reel.sync.client import Client
from tests.daemon import Daemon, short_directory
from tests.reel.importing.claude_samples import every_entry
from tests.reel.importing.transcripts import Transcript, call
from tests.thoroughness import SHARED

pytest.importorskip("claude_agent_sdk", reason="claude-agent-sdk is not installed")

from claude_agent_sdk import list_sessions_from_store, project_key_for_directory

from reel.integrations.claude_agent_sdk import ReelSessionStore

PROJECT = "-home-me-deck"
_NUMBERS = count()


@pytest.fixture
def store(daemon: Daemon) -> Iterator[ReelSessionStore]:
    made = ReelSessionStore(socket=daemon.socket)
    yield made
    made.close()


@pytest.fixture
def other(daemon: Daemon) -> Iterator[ReelSessionStore]:
    """A store of another process, as far as the daemon knows."""
    made = ReelSessionStore(socket=daemon.socket)
    yield made
    made.close()


def new_key(**fields: str) -> Any:
    """Return the key of a new session."""
    return {"project_key": PROJECT, "session_id": str(uuid4()), **fields}


def add(store: ReelSessionStore, key: Any, transcript: Transcript) -> list[Any]:
    """Append all records of a transcript that the store has not, and return all of them."""
    asyncio.run(store.append(key, transcript.records))
    return transcript.records


def load(store: ReelSessionStore, key: Any) -> list[Any]:
    return asyncio.run(store.load(key)) or []


def said(client: Client, agent: str) -> list[str]:
    """Return who says what in a conversation, a line for each message."""
    return [
        f"{message['role']}: {block.get('text') or block.get('name') or block.get('content')}"
        for message in client.iter_messages(agent)
        for block in message["content"]
    ]


def test_every_entry(store: ReelSessionStore, client: Client) -> None:
    """An entry of every type, and of one that nobody knows, comes back deeply equal, added at once or one by one."""
    entries = every_entry()
    at_once, one_by_one = new_key(), new_key()

    asyncio.run(store.append(at_once, entries))
    for entry in entries:
        asyncio.run(store.append(one_by_one, [entry]))

    assert load(store, at_once) == entries
    assert load(store, one_by_one) == entries
    assert said(client, store.agent_name(at_once)) == said(client, store.agent_name(one_by_one))


def test_everybody_reads_it(store: ReelSessionStore, client: Client) -> None:
    """Prompts, answers, calls and results are messages: they are shown, found, and rendered for another provider."""
    key = new_key()
    made = Transcript().user("u1", "What is a quadraphonic deck?").answer("a1", "I look it up.", "m1")
    made.answer("a2", call("c1", word="deck"), "m1").result("u2", "c1", "A machine with four channels.")
    add(store, key, made.answer("a3", "It plays four channels.", "m2"))
    agent = store.agent_name(key)

    assert [
        "user: What is a quadraphonic deck?",
        "assistant: I look it up.",
        "assistant: Bash",
        "tool: A machine with four channels.",
        "assistant: It plays four channels.",
    ] == said(client, agent)
    rendered = json.loads(client.render(agent, "openai-chat", model="gpt-5.2").body)["messages"]
    assert ["user", "assistant", "assistant", "tool", "assistant"] == [message["role"] for message in rendered]
    back = json.loads(client.render(agent, "anthropic", model="claude-x").body)["messages"]
    assert [2, 1] == [len(message["content"]) for message in back if message["role"] == "assistant"]
    (usage,) = [event for event in client.iter_history(agent) if event["kind"] == "usage"][:1]
    assert usage["ref"]


def test_agents_are_described(store: ReelSessionStore, client: Client) -> None:
    """An agent has the title of its session, and the directory, which ``reel continue`` asks for."""
    key = new_key()
    made = Transcript().user("u1", "Hi").other(type="ai-title", aiTitle="Made up", sessionId="s")
    add(store, key, made)
    add(store, key, made.other(type="custom-title", customTitle="Four decks", sessionId="s"))

    info = client.agent(store.agent_name(key))

    assert "Four decks" == info.title
    assert info.tags.items() >= {"cwd": "/home/me/deck", "tool": "claude-agent-sdk", **key}.items()


def test_repeated_entries(store: ReelSessionStore) -> None:
    """An entry with a ``uuid`` is there once; one without is added each time."""
    key = new_key()
    made = Transcript().user("u1", "Hi").other(type="mode", mode="plan")
    add(store, key, made)
    records = add(store, key, made.answer("a1", "Hello", "m1"))

    assert load(store, key) == [*records[:2], records[1], records[2]]


def test_branches(store: ReelSessionStore, client: Client) -> None:
    """Where Claude Code went back, the conversation goes on; the transcript has both branches."""
    key = new_key()
    made = Transcript().user("u1", "One").answer("a1", "First", "m1").user("u2", "Two").answer("a2", "Second", "m2")
    add(store, key, made)
    records = add(store, key, made.user("u3", "Three", after="a1").answer("a3", "Third", "m3"))

    assert load(store, key) == records
    assert ["user: One", "assistant: First", "user: Three", "assistant: Third"] == said(client, store.agent_name(key))
    records = add(store, key, made.user("u4", "Four", after="a2"))
    assert load(store, key) == records
    assert ["user: Two", "assistant: Second", "user: Four"] == said(client, store.agent_name(key))[2:]


def test_compaction(store: ReelSessionStore, other: ReelSessionStore, client: Client) -> None:
    """A summary takes the place of what was said, beside the messages that stay; the transcript has all of it, once."""
    key = new_key()
    made = Transcript().user("u1", "One").answer("a1", "First", "m1").user("u2", "Two").answer("a2", "Second", "m2")
    kept = {"trigger": "auto", "preservedSegment": {"headUuid": "u2", "tailUuid": "a2", "anchorUuid": "s1"}}
    made.record("system", "b1", after=None, subtype="compact_boundary", content="Compacted", compactMetadata=kept)
    made.user("s1", "They counted.", isCompactSummary=True)
    add(store, key, made)
    records = add(other, key, made.user("u3", "Three", after="a2"))

    assert load(store, key) == records
    assert [
        "user: They counted.",
        "user: Two",
        "assistant: Second",
        "user: Three",
    ] == said(client, store.agent_name(key))


def test_sub_agents(store: ReelSessionStore, client: Client) -> None:
    """Each sub-agent is an agent beside the session."""
    key = new_key()
    sub = {**key, "subpath": "subagents/workflows/run-1/agent-7"}
    add(store, key, Transcript().user("u1", "Send somebody."))
    records = add(store, sub, Transcript().user("u2", "Look.", isSidechain=True).other(type="agent_metadata", x=1))

    assert load(store, sub) == records
    assert asyncio.run(store.list_subkeys(key)) == [sub["subpath"]]
    assert f"claude/{PROJECT}/{key['session_id']}/subagents/workflows/run-1/agent-7" == store.agent_name(sub)
    assert ["user: Look."] == said(client, store.agent_name(sub))
    asyncio.run(store.delete(key))
    assert (None, None) == (asyncio.run(store.load(key)), asyncio.run(store.load(sub)))


def test_what_an_editor_adds(store: ReelSessionStore, client: Client) -> None:
    """What somebody else adds is an entry that the next prompt follows; nothing else is changed."""
    key = new_key()
    made = Transcript().user("u1", "One").answer("a1", "First", "m1")
    records = add(store, key, made)
    client.add(store.agent_name(key), "And in four channels?")
    *before, added = load(store, key)

    assert before == records
    assert (added["type"], added["parentUuid"], added["sessionId"]) == ("user", "a1", made.session)
    assert "user" == added["message"]["role"]
    assert "four channels" in str(added["message"]["content"])

    records = add(store, key, made.user("u2", "Two", after=added["uuid"]).answer("a2", "Second", "m2"))
    assert load(store, key) == [*records[:2], added, *records[2:]]
    assert ["user: And in four channels?", "user: Two", "assistant: Second"] == said(client, store.agent_name(key))[2:]


def test_what_loading_asks(store: ReelSessionStore, client: Client) -> None:
    """Messages that others have added take one request, however many there are."""
    key = new_key()
    add(store, key, Transcript().user("u1", "Hi"))
    for number in range(40):
        client.add(store.agent_name(key), f"by the way {number}")

    def counts() -> dict[str, int]:
        return {method: sum(found["counts"]) for method, found in client.stats()["request_seconds"].items()}

    before = counts()
    loaded = load(store, key)
    asked = {method: count - before.get(method, 0) for method, count in counts().items()}

    assert 41 == len(loaded)
    assert 1 == asked["messages"]
    assert 4 >= sum(asked.values()) - asked["stats"]


def test_a_clone_is_a_session(store: ReelSessionStore, client: Client) -> None:
    """A clone under the name of a session is listed, resumed and deleted as that one, without its tags."""
    key, clone = new_key(project_key="-home-clones"), new_key(project_key="-home-clones")
    add(store, key, Transcript(key["session_id"]).user("u1", "Hi"))
    add(store, {**key, "subpath": "subagents/agent-1"}, Transcript().user("s1", "Look"))
    client.clone(store.agent_name(key), store.agent_name(clone))
    client.clone(store.agent_name(key))

    sessions = asyncio.run(store.list_sessions("-home-clones"))
    assert {key["session_id"], clone["session_id"]} == {found["session_id"] for found in sessions}
    assert load(store, key) == load(store, clone) != []
    assert ["subagents/agent-1"] == asyncio.run(store.list_subkeys(key))
    assert [] == asyncio.run(store.list_subkeys(clone))
    asyncio.run(store.delete(clone))
    assert ([], True) == (load(store, clone), load(store, key) != [])
    asyncio.run(store.delete(key))
    assert [] == asyncio.run(store.list_sessions("-home-clones"))


def test_an_editor_and_a_run_at_once(store: ReelSessionStore, client: Client) -> None:
    """What is added while a run goes on stays in the conversation, and comes before the next prompt."""
    key = new_key()
    made = Transcript().user("u1", "One").answer("a1", call("c1"), "m1")
    add(store, key, made)
    client.add(store.agent_name(key), "Hurry up.")
    made.result("u2", "c1").answer("a2", "Done", "m2").user("u3", "Thanks").answer("a3", "Welcome", "m3")
    records = add(store, key, made)
    loaded = load(store, key)

    assert "user: Hurry up." in said(client, store.agent_name(key))
    assert ["u1", "a1", "u2", "a2", "u3", "a3"] == [entry["uuid"] for entry in loaded if len(entry["uuid"]) < 9]
    added = loaded[4]
    assert (added["parentUuid"], loaded[5]) == ("a2", {**records[4], "parentUuid": added["uuid"]})
    assert [*loaded[:4], loaded[6]] == [*records[:4], records[5]]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"type": []},
        {"uuid": {}, "parentUuid": []},
        {"message": 5},
        {"message": {"content": [None, {"type": {}}, 5]}},
    ],
)
def test_what_others_wrote_in_its_name(
    store: ReelSessionStore, client: Client, other: ReelSessionStore, wrong: Any
) -> None:
    """Malformed entries, whoever stored them, do not prevent loading the transcript and continuing it."""
    key = new_key()
    made = Transcript().user("u1", "One").answer("a1", "First", "m1")
    agent, (_, entry) = store.agent_name(key), add(store, key, made)
    bad = {**entry, "uuid": "b1", **wrong}
    client.add(agent, {"kind": "note", "data_json": json.dumps({"claude_code": json.dumps(bad)})})
    client.add(agent, {"kind": "note", "data_json": json.dumps({"claude_code": bad})})
    client.add_items(agent, [bad], "x-claude-agent-sdk", messages=[[{"role": "user", "content": "words"}]])
    client.add(agent, reel.state("session_summary", wrong))

    records = add(other, key, made.user("u2", "Two"))

    loaded = load(store, key)
    assert [entry["uuid"] for entry in records] == [e["uuid"] for e in loaded if e.get("uuid") in ("u1", "a1", "u2")]
    assert "u2" == loaded[-1]["uuid"]
    assert [key["session_id"]] == [
        each["session_id"] for each in asyncio.run(store.list_sessions(PROJECT)) if each["session_id"] in key.values()
    ]
    assert asyncio.run(store.list_session_summaries(PROJECT))


def test_an_editor_takes_back(store: ReelSessionStore, client: Client) -> None:
    """What somebody else has taken back is not loaded; Claude Code goes on before it, even if it does not know that."""
    key = new_key()
    made = Transcript().user("u1", "One").answer("a1", "First", "m1")
    add(store, key, made)
    records = add(store, key, made.user("u2", "Two").answer("a2", "Second", "m2"))
    agent = store.agent_name(key)
    client.undo(agent)
    assert load(store, key) == records[:2]

    records = add(store, key, made.user("u3", "Three"))
    assert load(store, key) == [*records[:2], {**records[4], "parentUuid": "a1"}]
    assert ["user: One", "assistant: First", "user: Three"] == said(client, agent)
    client.clear(agent)
    assert [] == load(store, key)
    client.undo(agent)
    assert ["u1", "a1", "u3"] == [entry["uuid"] for entry in load(store, key)]


def test_a_prompt_of_the_system_and_a_mark_stay(store: ReelSessionStore, client: Client) -> None:
    """What an editor has set beside the messages is not lost when Claude Code goes on, or sums up."""
    key = new_key()
    agent = store.agent_name(key)
    client.create(agent, "You are brief.")
    made = Transcript().user("u1", "One")
    add(store, key, made)
    client.mark(agent, "here")
    made.answer("a1", "First", "m1").record("system", "b1", after=None, subtype="compact_boundary", content="Compacted")
    records = add(store, key, made)
    assert ["here"] == [mark.label for mark in client.agent(agent).marks]
    records = add(store, key, made.user("s1", "They counted.", isCompactSummary=True))

    assert load(store, key) == records
    assert "You are brief." == client.agent(agent).system


def test_a_clone_into_a_session(store: ReelSessionStore, other: ReelSessionStore, client: Client) -> None:
    """What it brings is loaded in place of what was there, although both have the same seqs; an undo takes it back."""
    key, source = new_key(), new_key()
    agent = store.agent_name(key)
    records = add(store, key, Transcript().user("u1", "One").answer("a1", "First", "m1").user("u2", "Two"))
    made = Transcript().user("u3", "Three").answer("a3", "Third", "m3").user("u4", "Four")
    add(store, source, made)
    client.add(store.agent_name(source), ["Hurry up."])
    client.clone(store.agent_name(source), into=agent)

    assert ["u3", "a3", "u4"] == [entry["uuid"] for entry in load(store, key)][:3]
    branch = made.user("u5", "Five", after="a3").records[-1:]
    asyncio.run(store.append(key, branch))
    assert ["user: Three", "assistant: Third", "user: Five"] == said(client, agent)
    assert made.records == load(store, key) == load(other, key)
    client.undo(agent)
    client.undo(agent)
    assert records == load(store, key)


def test_going_back_in_what_a_clone_brought(store: ReelSessionStore, other: ReelSessionStore, client: Client) -> None:
    """A session that was read after the clone goes on from any message of it, also from one that it has left."""
    key, source = new_key(), new_key()
    agent = store.agent_name(key)
    add(store, key, Transcript().user("u1", "One"))
    made = Transcript().user("u3", "Three").answer("a3", "Third", "m3").user("u4", "Four").answer("a4", "Fourth", "m4")
    add(store, source, made)
    client.clone(store.agent_name(source), into=agent)

    for uuid, after in (("u5", "u4"), ("u6", "a3"), ("u7", "u3")):
        asyncio.run(store.append(key, made.user(uuid, uuid, after=after).records[-1:]))
    assert ["user: Three", "user: u7"] == said(client, agent)
    asyncio.run(store.append(key, made.user("u8", "u8", after="a4").records[-1:]))
    assert ["user: Three", "assistant: Third", "user: Four", "assistant: Fourth", "user: u8"] == said(client, agent)
    asyncio.run(other.append(key, made.user("u9", "u9", after="u3").records[-1:]))
    asyncio.run(store.append(key, made.user("u10", "u10", after="u4").records[-1:]))

    assert ["user: Three", "assistant: Third", "user: Four", "user: u10"] == said(client, agent)
    assert made.records == load(store, key)


def test_a_clone_of_a_session_into_it(store: ReelSessionStore, client: Client) -> None:
    """What both share is loaded as it was, with what the clone has behind it."""
    key = new_key()
    agent = store.agent_name(key)
    records = add(store, key, Transcript().user("u1", "One").answer("a1", "First", "m1").user("u2", "Two"))
    clone = client.clone(agent, at=next(client.iter_messages(agent, since=2))["seq"]).id
    client.add(clone, ["Three"])
    client.clone(clone, into=agent)

    *shared, added = load(store, key)
    assert (records[:2], "a1") == (shared, added["parentUuid"])
    assert ["user: One", "assistant: First", "user: Three"] == said(client, agent)


class Step(NamedTuple):
    """A record of a random transcript, and what happens before it is appended."""

    kind: str
    after: int
    answer: int
    # Whose store appends it, and whether an editor adds something before, or takes something back.
    store: int
    editor: str


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["prompt", "prompt", "answer", "answer", "call", "result", "note", "boundary", "summary"]),
        st.integers(0, 9),
        st.integers(0, 2),
        st.integers(0, 1),
        st.sampled_from(["", "", "", "add", "undo", "clear", "mark"]),
    ),
    min_size=1,
    max_size=12,
)


def record(made: Transcript, number: int, step: Step) -> None:
    """Append a record to a transcript: after the last one, or any one before, or one that does not exist."""
    uuid = f"r{number}"
    after = {} if step.after < 6 or not number else {"after": f"r{(step.after - 6) * number // 3}"}
    match step.kind:
        case "prompt":
            made.user(uuid, f"Prompt {number}", **after)
        case "answer":
            made.answer(uuid, f"Answer {number}", f"m{step.answer}", **after)
        case "call":
            made.answer(uuid, call(f"c{step.answer}"), f"m{step.answer}", **after)
        case "result":
            made.result(uuid, f"c{step.answer}", **after)
        case "note":
            made.record("system", uuid, subtype="turn_duration", **after)
        case "boundary":
            kept = {"preservedSegment": {"headUuid": "r0", "tailUuid": f"r{number - 1}"}} if step.answer else {}
            made.record("system", uuid, subtype="compact_boundary", compactMetadata=kept, after=None)
        case _:
            made.user(uuid, f"Summary {number}", isCompactSummary=True, **after)


@settings(suppress_health_check=SHARED)
@given(STEPS)
def test_any_transcript(store: ReelSessionStore, other: ReelSessionStore, steps: list[Step]) -> None:
    """Whatever a transcript looks like, two stores that append to it in turns keep it deeply equal."""
    key, made = new_key(), Transcript()
    for number, step in enumerate(steps):
        record(made, number, step)
        asyncio.run((store, other)[step.store].append(key, made.records[-2:]))

    assert load(store, key) == made.records


@settings(suppress_health_check=SHARED)
@given(STEPS)
def test_any_transcript_and_an_editor(store: ReelSessionStore, client: Client, steps: list[Step]) -> None:
    """Whatever an editor does in between, what it added last is loaded, and each entry follows another one or none."""
    key, made = new_key(), Transcript()
    agent = store.agent_name(key)
    last = ""
    for number, step in enumerate(steps):
        if number and step.editor == "add":
            last = f"Editor {number}"
            client.add(agent, last)
        elif number and step.editor:
            last = ""
            with suppress(NothingToUndo):
                getattr(client, step.editor)(agent)
        record(made, number, step)
        asyncio.run(store.append(key, made.records[-1:]))
    if last and not any(step.kind in ("boundary", "summary") for step in steps):
        assert last in str([entry["message"]["content"] for entry in load(store, key) if "message" in entry])
    loaded = load(store, key)
    given_ids = [record["uuid"] for record in made.records]
    seen: set[str | None] = {None}
    for entry in loaded:
        assert entry["uuid"] not in seen
        seen.add(entry["uuid"])
    assert {entry["parentUuid"] for entry in loaded} <= seen | set(given_ids)
    assert load(store, key) == loaded


def test_two_processes(store: ReelSessionStore, other: ReelSessionStore) -> None:
    """Of what two processes append to one session at once, nothing is lost or doubled, and each one's order stays."""
    key = new_key()
    both = [(store, Transcript()), (other, Transcript())]
    for who, (_, made) in enumerate(both):
        for number in range(12):
            made.user(f"{who}-{number}", f"{who} says {number}")

    async def run() -> None:
        await asyncio.gather(*(one.append(key, [record]) for one, made in both for record in made.records))

    asyncio.run(run())
    loaded = load(store, key)

    assert sorted(entry["uuid"] for entry in loaded) == sorted(
        record["uuid"] for _, made in both for record in made.records
    )
    for who, (_, made) in enumerate(both):
        assert [entry for entry in loaded if entry["uuid"].startswith(f"{who}-")] == made.records


@pytest.mark.parametrize("library", ["asyncio", "trio"])
def test_a_cancelled_call_is_done(library: str, store: ReelSessionStore) -> None:
    """A call that is cancelled is carried out all the same, and the caller hears of the cancellation after that."""
    key, records = new_key(), Transcript().user("u1", "Hi").records

    async def on_asyncio() -> Any:
        adding = asyncio.ensure_future(store.append(key, records))
        await asyncio.sleep(0)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        return await store.load(key)

    async def on_trio() -> Any:
        with trio.CancelScope() as scope:
            scope.cancel()
            await store.append(key, records)
        assert scope.cancelled_caught
        return await store.load(key)

    assert (asyncio.run(on_asyncio()) if library == "asyncio" else trio.run(on_trio)) == records


def test_the_daemon_is_killed_and_restarted(store: ReelSessionStore, daemon: Daemon) -> None:
    """A call during a restart waits for it, and is carried out once."""
    key = new_key()
    made = Transcript().user("u1", "Hi")
    add(store, key, made)
    daemon.process.kill()
    daemon.process.wait()

    async def run() -> None:
        adding = asyncio.ensure_future(store.append(key, made.answer("a1", call("c1"), "m1").records))
        await asyncio.to_thread(daemon.start)
        await adding

    asyncio.run(run())

    assert load(store, key) == made.records


def test_a_backup_is_restored(tmp_path: Path) -> None:
    """An entry that is not in the backup is stored when it comes again, although others have written as much since."""
    with short_directory() as directory:
        daemon = Daemon(directory).start()
        store, key = ReelSessionStore(socket=daemon.socket), new_key()
        made = Transcript().user("u1", "Hi")
        add(store, key, made)
        with daemon.client() as client:
            client.backup(str(tmp_path / "backup.db"))
            add(store, key, made.answer("a1", {"type": "text", "text": "Hello."}, "m1"))
            head = client.agent(store.agent_name(key)).head
        daemon.put_back(tmp_path / "backup.db")
        with daemon.client() as client:
            client.add(store.agent_name(key), ["theirs"] * (head - client.agent(store.agent_name(key)).head))

            add(store, key, made)
            shown = [message["content"] for message in client.iter_conversation(store.agent_name(key))]
        assert "theirs" in shown
        assert "Hello." in str(shown[-1])
        store.close()
        daemon.close()


def test_an_interrupted_run(store: ReelSessionStore, client: Client) -> None:
    """A transcript that ends between a call and its result is loaded as it is, and says that the call is open."""
    key = new_key()
    records = add(store, key, Transcript().user("u1", "Hi").answer("a1", call("c1"), "m1"))

    assert load(store, key) == records
    assert ["c1"] == [found.id for found in client.agent(store.agent_name(key)).open_calls]


def test_old_transcripts(store: ReelSessionStore, client: Client) -> None:
    """Messages of an old transcript have their times; the session counts as stored now."""
    key = new_key()
    records = add(store, key, Transcript().user("u1", "Hi"))
    (message,) = client.iter_messages(store.agent_name(key))
    (listed,) = [
        found for found in asyncio.run(store.list_sessions(PROJECT)) if found["session_id"] == key["session_id"]
    ]

    assert 1785578400000 == message["sent"]
    assert listed["mtime"] >= message["time"]
    assert load(store, key) == records


def test_the_sdk_lists_sessions(store: ReelSessionStore) -> None:
    """The SDK's own listing shows a session with its first prompt, without loading it."""
    directory = "/home/me/other-deck"
    key = {"project_key": project_key_for_directory(directory), "session_id": str(uuid4())}
    add(store, key, Transcript().user("u1", "What is a reel? " * 200))

    (found,) = asyncio.run(list_sessions_from_store(store, directory=directory))

    assert found.first_prompt is not None
    assert found.first_prompt.startswith("What is a reel?")
    assert (found.session_id, found.cwd) == (key["session_id"], "/home/me/deck")


@pytest.mark.parametrize("session_id", ["🎞 tape", "a/b", "x" * 1024, "01a2" * 8, "a\nb"])
def test_an_id_that_is_not_a_name(session_id: str, store: ReelSessionStore) -> None:
    """Any id that a tag can have is stored and listed as it is."""
    key = {"project_key": "tenant 1/2", "session_id": session_id}
    records = add(store, key, Transcript().user("u1", "Hi"))

    assert load(store, key) == records
    assert session_id in [found["session_id"] for found in asyncio.run(store.list_sessions("tenant 1/2"))]
    asyncio.run(store.delete(key))
    assert [] == load(store, key)


def test_what_is_refused(store: ReelSessionStore, client: Client) -> None:
    """What is no entry or no key, and a killed agent, are refused; nothing is added."""
    key = new_key()
    for entries, why in (
        ([{"type": "x"}, 1], r"entries\[1\]: expected a dict, got a int"),
        ([{"type": "x", "n": math.nan}], r"entries\[0\]: "),
        ([{"type": "x", "n": object()}], r"entries\[0\]: a object is not a value of JSON"),
        ([{"type": "x"}, {"type": "x", "n": nested(400)}], r"entries\[1\]: nested deeper than 400 levels"),
        ([{"type": "x", "n": nested(2000)}], r"entries\[0\]: "),
    ):
        with pytest.raises(InvalidMessage, match=why):
            asyncio.run(store.append(key, entries))
    for wrong, why in (
        ({"project_key": "p"}, "session_id: expected a text that is not empty, got None"),
        ({**key, "session_id": "x" * 10_240}, "session_id: expected at most 1,024 characters, got 10,240"),
        ({**key, "project_key": "a\0b"}, "project_key: 'a.*b' has NUL"),
        ({**key, "subpath": 1}, "subpath: expected a text"),
        ("key", "key: expected a map, got a str"),
    ):
        with pytest.raises(InvalidParams, match=why):
            asyncio.run(store.load(wrong))
    with pytest.raises(InvalidParams, match="prefix: "):
        ReelSessionStore(prefix=" ")
    assert asyncio.run(store.load(key)) is None
    add(store, key, Transcript().user("u1", "Hi"))
    client.kill(store.agent_name(key))
    with pytest.raises(Killed):
        asyncio.run(store.append(key, [{"type": "x"}]))


@pytest.mark.parametrize("redacted", range(4))
def test_a_redacted_message_keeps_its_place(redacted: int, store: ReelSessionStore, client: Client) -> None:
    """An entry whose message was redacted is where it was, with its id, so that Claude Code finds what is before it."""
    key, made = new_key(), Transcript()
    made.user("u1", "Hi").answer("a1", "Hello.", "m1").user("u2", "What is a reel?").answer("a2", "A spool.", "m2")
    add(store, key, made)
    name = store.agent_name(key)
    client.redact(name, [client.messages(name).messages[redacted]["seq"]])
    asyncio.run(store.append(key, made.user("u3", "And a deck?").records[-1:]))

    found = load(store, key)

    assert [("u1", None), ("a1", "u1"), ("u2", "a1"), ("a2", "u2"), ("u3", "a2")] == [
        (entry["uuid"], entry["parentUuid"]) for entry in found
    ]
    assert "[redacted" in str(found[redacted]["message"])


def test_a_killed_agent_is_deleted(store: ReelSessionStore, client: Client) -> None:
    """A transcript whose agent was killed is removed for good, too, with those of its sub-agents, in one command."""
    key, other = new_key(), new_key()
    add(store, other, Transcript().user("u1", "Hi"))
    erasures = client.items(store.agent_name(other), "anthropic").erasures
    for each in (key, {**key, "subpath": "subagents/agent-1"}):
        add(store, each, Transcript().user("u1", "Hi"))
        client.kill(store.agent_name(each))

    asyncio.run(store.delete(key))

    assert asyncio.run(store.load(key)) is None
    assert asyncio.run(store.load({**key, "subpath": "subagents/agent-1"})) is None
    assert erasures + 1 == client.items(store.agent_name(other), "anthropic").erasures


@pytest.mark.parametrize("kind", ["user", "else"])
def test_large_entries(kind: str, store: ReelSessionStore) -> None:
    """An entry of 8 MiB is kept; one that the daemon does not take is refused before anything is added."""
    key = new_key()
    small, fitting, large = (
        {"type": kind, "uuid": f"u{count}", "message": {"content": "A line of words\n" * count}}
        for count in (1, 1 << 19, 1 << 21)
    )

    with pytest.raises(TooLarge, match="a message may have"):
        asyncio.run(store.append(key, [small, large]))
    assert asyncio.run(store.load(key)) is None
    asyncio.run(store.append(key, [small, fitting]))
    assert [small, fitting] == load(store, key)


def nested(levels: int) -> Any:
    value: Any = "inside"
    for _ in range(levels):
        value = [value]
    return value


def test_deep_entries_and_keys(store: ReelSessionStore) -> None:
    """A value of 400 levels is kept; a key that is no text becomes one, as in a file of JSON."""
    key = new_key()
    deep = {"type": "user", "uuid": "u1", "message": {"content": [nested(397)]}}

    asyncio.run(store.append(key, [deep, {"type": "x", "beside": {1: 2, None: 3}}]))

    assert [deep, {"type": "x", "beside": {"1": 2, "null": 3}}] == load(store, key)


def test_no_daemon() -> None:
    """The error says that no daemon answers on the socket."""
    with pytest.raises(NotRunning, match="/nowhere"):
        asyncio.run(ReelSessionStore(socket="/nowhere").load(new_key()))
