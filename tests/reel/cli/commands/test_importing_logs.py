"""``reel import reel``: logs that ``reel export`` wrote."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reel import no_state, requests, state
from reel.base.errors import ReelError
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.forkserver import running_daemon
from tests.reel.cli.conftest import Reel, texts
from tests.thoroughness import SHARED

_COMMANDS = (
    "add",
    "pair",
    "note",
    "mark",
    "label",
    "rewind",
    "back",
    "clear",
    "undo",
    "redo",
    "restore",
    "from",
    "change",
    "value",
    "several",
)


@pytest.fixture(scope="module")
def other() -> Iterator[Daemon]:
    """A second daemon, which the logs are imported into."""
    with running_daemon() as daemon:
        yield daemon


@pytest.fixture
def there(other: Daemon) -> Iterator[Client]:
    """A client of the second daemon."""
    with Client(other.socket) as client:
        yield client


def carry_out(client: Client, agent: str, command: str, number: int) -> None:
    """Carry out a command that may be impossible at this moment."""
    head = client.agent(agent).head
    words: dict[str, Any] = {
        "add": lambda: client.add(agent, f"text {number} é\u2028"),
        "pair": lambda: client.add(agent, ["a question", {"role": "system", "content": f"prompt {number}"}]),
        "note": lambda: client.add(agent, [{"kind": "note", "data_json": '{"a": 1.50}'}]),
        "mark": lambda: client.mark(agent),
        "label": lambda: client.mark(agent, f"label-{number % 2}"),
        "rewind": lambda: client.rewind(agent),
        "back": lambda: client.rewind(agent, f"label-{number % 2}"),
        "clear": lambda: client.clear(agent),
        "undo": lambda: client.undo(agent),
        "redo": lambda: client.redo(agent),
        "restore": lambda: client.restore(agent, number % (head + 1)),
        "from": lambda: client.add(agent, "instead", from_=1 + number % head),
        "value": lambda: client.add(agent, [state("k", number) if number % 3 else no_state("k"), state("l", [number])]),
        "several": lambda: client.commit(
            [requests.add(agent, [state("k", number), "one"]), requests.change(agent, title=f"title {number}")]
        ),
        "change": lambda: client.change(agent, title=f"title {number}", tags={"n": str(number)}),
    }
    try:
        words[command]()
    except ReelError:
        return


def log(client: Client, agent: str) -> list[dict[str, Any]]:
    """Return the events of an agent without what is of the database they are in."""
    own = {"id", "agent", "time", "client", "sent", "ref", "parent"}
    events = [{k: v for k, v in event.items() if k not in own} for event in client.iter_history(agent, inherited=True)]
    return [{**event, "data_json": None} if event["kind"] == "clone" else event for event in events]


def said(client: Client, agent: str, at: int) -> Any:
    """Return the conversation at a position, without the times."""
    page = client.messages(agent, at=at)
    return page.system, [(message["seq"], message["role"], message["content"]) for message in page.messages]


def values(client: Client, agent: str) -> list[Any]:
    """Return the values beside a conversation, without the times."""
    return [(value.key, value.value, value.seq) for value in client.state(agent).values]


def same(here: Client, there: Client, agent: str) -> None:
    """Check that an agent has the same log and the same conversation everywhere."""
    assert log(there, agent) == log(here, agent)
    assert values(there, agent) == values(here, agent)
    for at in range(here.agent(agent).head + 1):
        assert said(there, agent, at) == said(here, agent, at)


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=SHARED)
@given(
    commands=st.lists(st.tuples(st.sampled_from(_COMMANDS), st.integers(0, 40)), max_size=25),
    system=st.none() | st.text(max_size=5).filter(str.isprintable),
    cloned=st.integers(0, 40),
    killed=st.booleans(),
)
def test_any_history(
    reel: Reel,
    client: Client,
    there: Client,
    tmp_path_factory: pytest.TempPathFactory,
    commands: list[tuple[str, int]],
    system: str | None,
    cloned: int,
    *,
    killed: bool,
) -> None:
    """An imported log has the same events and the same conversation at every position; so has a clone."""
    folder = tmp_path_factory.mktemp("logs")
    agent = client.create(system=system, tags={"a": "b"}).name
    for command, number in commands:
        carry_out(client, agent, command, number)
    clone = client.clone(agent, at=cloned % (client.agent(agent).head + 1) or None).name
    client.add(clone, "in the clone")
    client.undo(clone)
    if killed:
        client.kill(agent, "done")
    for number, name in enumerate((clone, agent)):
        reel("export", client.agent(name).id, "--format", "jsonl", "-o", f"{folder}/{number}.jsonl")

    first = reel("import", "reel", str(folder), "--socket", there.path)
    again = reel("import", "reel", str(folder), "--socket", there.path)

    assert (0, "") == (first.status, first.err)
    same(client, there, client.agent(clone).name)
    assert "nothing new" in again.out
    (made,) = [row.id for row in there.iter_agents() if row.name == agent]
    assert log(there, made) == log(client, client.agent(agent).id)


def exported(reel: Reel, client: Client, name: str, tmp_path: Path) -> tuple[Path, list[str]]:
    """Return the log of an agent with three messages and an undo, and its lines."""
    client.create(name, "Be brief.")
    for text in ("one", "two", "three"):
        client.add(name, text)
    client.undo(name)
    path = tmp_path / "log.jsonl"
    reel("export", name, "--format", "jsonl", "-o", str(path))
    return path, path.read_text().splitlines()


@pytest.mark.parametrize("damage", ["torn", "flipped", "unknown", "list"])
def test_a_damaged_log(reel: Reel, client: Client, there: Client, name: str, tmp_path: Path, damage: str) -> None:
    """What is damaged is reported with its line; every later event keeps its seq."""
    path, lines = exported(reel, client, name, tmp_path)
    line = {"torn": 7}.get(damage, 4)
    kind = {"unknown": "dance", "list": ["user"]}.get(damage)
    bad = json.dumps({**json.loads(lines[line - 1]), "kind": kind}) if kind else lines[line - 1][:20]
    path.write_text("\n".join([*lines[: line - 1], bad, *lines[line:]]))

    ran = reel("import", "reel", str(path), "--socket", there.path)

    assert f"{path}:{line}: " in ran.err
    last = 5 if damage == "torn" else 6
    assert there.agent(name).head == last
    assert texts(reel, name, "--socket", there.path) == (
        ["one", "two", "three"] if damage == "torn" else ["one", "two"] if line == 7 else ["two"]
    )


@pytest.mark.parametrize("is_redacted", [False, True])
def test_a_damaged_time(
    reel: Reel, client: Client, there: Client, name: str, tmp_path: Path, *, is_redacted: bool
) -> None:
    """An event of which the log does not tell the time is known at the next import, whatever time it got here."""
    path, lines = exported(reel, client, name, tmp_path)
    lines[3] = json.dumps({**json.loads(lines[3]), "time": "noon"})
    path.write_text("\n".join(lines))
    command = "import", "reel", str(path), "--socket", there.path
    reel(*command)
    if is_redacted:
        there.redact(name, text="one")
    path.write_text("\n".join([*lines, ""]))

    reel(*command)

    assert [name] == [row.name for row in there.iter_agents(name)]


@pytest.mark.parametrize("first", ['{"reel":2,"agent":{}}', '{"role":"user"}', "["])
def test_what_is_not_a_log(reel: Reel, there: Client, tmp_path: Path, first: str) -> None:
    """A file of a later version, or of something else, is refused with its name and line."""
    path = tmp_path / "log.jsonl"
    path.write_text(f"{first}\n")

    ran = reel("import", "reel", str(path), "--socket", there.path)

    assert ran.status != 0
    assert f"{path}:1: " in ran.err


def test_a_taken_name(reel: Reel, client: Client, there: Client, name: str, tmp_path: Path) -> None:
    """A conversation that has the name already is not written to."""
    path, _ = exported(reel, client, name, tmp_path)
    there.add(name, "other", create=True)

    reel("import", "reel", str(path), "--socket", there.path)

    assert 2 == there.agent(name).head
    assert log(there, f"{name}@2")[1:] == log(client, name)[1:]


SECRET = "hunter2"


@pytest.fixture
def kept(reel: Reel, client: Client, name: str, tmp_path: Path) -> Path:
    """The log of a conversation with a secret, exported before it is redacted."""
    client.create(name, f"Be {SECRET}.", title=f"About {SECRET}", tags={"of": SECRET, "n": "1"})
    client.add(name, [f"It is {SECRET}.", {"kind": "note", "content": f"so {SECRET}"}, state("k", SECRET)])
    client.add(name, "Thanks")
    path = tmp_path / "log.jsonl"
    reel("export", name, "--format", "jsonl", "-o", str(path))
    return path


def redact(client: Client, name: str, *, by_text: bool) -> None:
    """Redact the secret, where it is found or the events that have it."""
    seqs = [event["seq"] for event in client.iter_history(name) if SECRET in json.dumps(event)]
    client.redact(name, **({"text": [SECRET]} if by_text else {"seqs": seqs[1:]}))


@pytest.mark.parametrize("by_text", [True, False])
def test_a_log_from_before_a_redaction(reel: Reel, client: Client, name: str, kept: Path, *, by_text: bool) -> None:
    """It is known, also under another name, and brings nothing back."""
    redact(client, name, by_text=by_text)
    client.change(name, name=f"{name}-new")
    before = [*client.iter_history(f"{name}-new")], client.agent(f"{name}-new")
    ran = reel("import", "reel", str(kept), "--json").documents[0]

    assert (1, 0, []) == (ran["unchanged"], ran["new"], ran["problems"])
    assert before == ([*client.iter_history(f"{name}-new")], client.agent(f"{name}-new"))
    assert [f"{name}-new"] == [row.name for row in client.iter_agents(prefix=name)]


@pytest.mark.parametrize("by_text", [True, False])
def test_a_log_that_went_on_elsewhere_before_a_redaction(
    reel: Reel, client: Client, there: Client, name: str, kept: Path, *, by_text: bool
) -> None:
    """What it says beside the redacted conversation is redacted as well."""
    reel("import", "reel", str(kept), "--socket", there.path)
    there.add(name, "Bye")
    reel("export", name, "--format", "jsonl", "-o", f"{kept}l", "--socket", there.path)
    redact(client, name, by_text=by_text)
    ran = reel("import", "reel", f"{kept}l", "--json").documents[0]

    events, beside = [*client.iter_history(f"{name}@2")], client.agent(f"{name}@2")
    gone = {event["seq"] for event in client.iter_history(name) if "[redacted " in json.dumps(event)}
    assert (1, []) == (ran["new"], ran["problems"])
    assert "Bye" == events[-1]["content"]
    assert gone == {event["seq"] for event in events if "[redacted " in json.dumps(event)}
    assert (not by_text) is (SECRET in json.dumps([events, beside.title, beside.tags]))
    assert len(gone) - 1 <= ran["records"]["ignored"]["redacted here"] <= len(gone)


def test_a_log_from_before_a_title(reel: Reel, client: Client, name: str, kept: Path) -> None:
    """An older log does not describe a conversation that went on."""
    client.change(name, title="Mine", tags={"n": "2"})
    reel("import", "reel", str(kept))

    assert ("Mine", {"n": "2"}) == (client.agent(name).title, client.agent(name).tags)


def test_many_logs(reel: Reel, client: Client, there: Client, name: str, tmp_path: Path) -> None:
    """The agents are listed once for an import, not once for each log: there may be thousands of both."""
    for number in range(3):
        client.add(f"{name}-{number}", "Hi", create=True)
        reel("export", f"{name}-{number}", "--format", "jsonl", "-o", str(tmp_path / f"{number}.jsonl"))
    before = listings(there)

    reel("import", "reel", str(tmp_path), "--socket", there.path)

    assert 1 == listings(there) - before
    assert 3 == len(list(there.iter_agents(prefix=name)))


def listings(client: Client) -> int:
    """Return how often the daemon was asked for its agents."""
    asked = client.stats()["request_seconds"].get("agents", {"counts": []})
    return sum(asked["counts"])


def test_a_clone_without_its_source(reel: Reel, client: Client, there: Client, name: str, tmp_path: Path) -> None:
    """It gets the events from before it was cloned; a note stands for what cannot be carried out again."""
    client.add(name, "one", create=True)
    client.kill(name)
    clone = client.clone(name, f"{name}-clone").name
    client.add(clone, "two")
    path = str(tmp_path / "log.jsonl")
    reel("export", clone, "--format", "jsonl", "-o", path)

    ran = reel("import", "reel", path, "--socket", there.path)

    assert (0, "") == (ran.status, ran.err)
    assert ["created", "user", "note", "note", "user"] == [event["kind"] for event in there.history(clone).events]
    assert said(there, clone, 5) == said(client, clone, 5)


@pytest.mark.parametrize("together", [True, False])
def test_a_clone_into(reel: Reel, client: Client, there: Client, name: str, tmp_path: Path, *, together: bool) -> None:
    """It is carried out if the other agent is in the import; else it is reported, and undo goes to the same place."""
    client.add(name, "other", create=True)
    agent = f"{name}-into"
    client.add(agent, "own", create=True)
    client.clone(name, into=agent)
    client.undo(agent)
    for exported_name in (agent, name) if together else (agent,):
        reel("export", exported_name, "--format", "jsonl", "-o", str(tmp_path / f"{exported_name}.jsonl"))

    ran = reel("import", "reel", str(tmp_path), "--socket", there.path)

    assert ("was cloned into this one, is not there" in ran.err) is not together
    assert said(there, agent, 4) == said(client, agent, 4)
    assert (said(there, agent, 3) == said(client, agent, 3)) is together
    times = [event["time"] for event in client.history(agent, kinds=["clone"]).events] if together else []
    assert times == [event["sent"] for event in there.history(agent, kinds=["clone"]).events]


def test_a_clone_keeps_its_time(reel: Reel, client: Client, there: Client, name: str, tmp_path: Path) -> None:
    """A clone that says nothing of its own is as old as it was."""
    client.add(name, "one", create=True)
    clone = client.clone(name, f"{name}-clone")
    for each in (name, clone.name):
        reel("export", each, "--format", "jsonl", "-o", str(tmp_path / f"{each}.jsonl"))

    reel("import", "reel", str(tmp_path), "--socket", there.path)

    assert clone.updated == there.agent(clone.name).updated


def test_what_happened_keeps_its_time(reel: Reel, client: Client, there: Client, name: str, tmp_path: Path) -> None:
    """Also what is no message: the log says when it was cleared, and a command of many messages is one undo."""
    client.add(name, ["one"] * 2000, create=True)
    client.add(name, ["two"] * 2000)
    client.clear(name)
    client.change(name, title="Old")
    path = str(tmp_path / "log.jsonl")
    reel("export", name, "--format", "jsonl", "-o", path)

    ran = reel("import", "reel", path, "--socket", there.path)

    assert (0, "") == (ran.status, ran.err)
    here, copied = (list(each.iter_history(name)) for each in (client, there))
    assert [event["time"] for event in here[-2:]] == [event["sent"] for event in copied[-2:]]
    assert copied[-2]["sent"] == there.agent(name).updated
    there.undo(name)
    there.undo(name)
    assert 2000 == there.agent(name).messages


def test_a_name_that_is_taken_on_the_way(reel: Reel, client: Client, there: Client, name: str, tmp_path: Path) -> None:
    """The events that it cannot have are notes, and said with their lines; all others keep their seqs."""
    client.create(f"{name}-first")
    client.change(f"{name}-first", name=f"{name}-second")
    client.add(f"{name}-second", "said")
    client.undo(f"{name}-second")
    client.redo(f"{name}-second")
    client.change(f"{name}-second", name=f"{name}-third")
    there.create(f"{name}-second")
    path = str(tmp_path / "log.jsonl")
    reel("export", f"{name}-third", "--format", "jsonl", "-o", path)

    ran = reel("import", "reel", path, "--socket", there.path)

    assert f":3: seq 2: not carried out: events[0].data_json.name: agent {name}-second exists already" in ran.err
    assert ["created", "note", "user", "restore", "restore", "changed"] == [
        event["kind"] for event in there.history(f"{name}-third").events
    ]
    assert ["said"] == [record["content"] for record in there.iter_conversation(f"{name}-third")]


def test_a_log_in_which_two_events_have_one_id(reel: Reel, there: Client, name: str, tmp_path: Path) -> None:
    """Both are brought in, and the log is known at the next import; an event in place of the first one is reported."""
    rows: list[Any] = [{"reel": 1, "agent": {"id": name, "name": name}}]
    for seq, kind in enumerate(("user", "user", "assistant"), 1):
        event = {"seq": seq, "command": seq, "kind": kind, "content": f"{kind} {seq}", "data_json": None}
        rows.append({**event, "time": 5, "ref": "the same"})
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = "import", "reel", str(tmp_path), "--socket", there.path, "--json"
    runs = [reel(*command) for _ in range(2)]
    first, again = (json.loads(ran.out) for ran in runs)

    assert ["created", "user", "assistant"] == [event["kind"] for event in there.history(name).events]
    assert [1, 0, 0, 1] == [first["new"], first["unchanged"], again["new"], again["unchanged"]]
    assert [(4, 0), (0, 4)] == [(each["records"]["mapped"], each["records"]["known"]) for each in (first, again)]
    assert ["seq 1 begins no log"] == [problem.partition(": ")[2].partition(",")[0] for problem in first["problems"]]
