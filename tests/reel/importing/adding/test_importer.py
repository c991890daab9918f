"""Which agents sources become, and what the report says of them, with a real daemon and a tool that tests make."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reel.importing import tool_named
from reel.importing.adding.agents import SOURCE
from reel.importing.adding.importer import NOT_STORED, Importer, Totals
from reel.importing.adding.pipeline import Pipeline
from reel.importing.adding.seen import Seen
from reel.importing.adding.target import CLIENT
from reel.importing.adding.tombstones import Tombstones
from reel.importing.steps import (
    WITHOUT_MESSAGE,
    About,
    Back,
    Compacted,
    Counts,
    Found,
    Kept,
    Part,
    Said,
    Source,
    Step,
    Tool,
)
from reel.sync.client import Client
from tests.reel.importing.samples import SAMPLES


class Reading:
    """A source that has these steps, and then may not be readable; something else happens after the first one."""

    def __init__(self, steps: list[Step], error: OSError | None, meanwhile: Callable[[], object]) -> None:
        self.counts = Counts()
        self._steps = steps
        self._error = error
        self._meanwhile = meanwhile

    def steps(self) -> Iterator[Step]:
        """Yield the steps; as with all tools, the first one says what the conversation is about."""
        if self._steps and not isinstance(self._steps[0], About):
            yield About()
        for step in self._steps:
            self._meanwhile()
            self._meanwhile = lambda: None
            self.counts.map()
            yield step
        if self._error is not None:
            raise self._error


class Histories:
    """Sources by the names of their conversations, and their imports into a daemon.

    Args:
        client: a client of the daemon.
        prefix: how all names begin.
        seen: the file of what was imported.
    """

    def __init__(self, client: Client, prefix: str, seen: Path) -> None:
        self._client = client
        self._prefix = prefix
        self._seen = str(seen)
        self.steps: dict[str, list[Step]] = {}
        self.fork_of: dict[str, str] = {}
        self.errors: dict[str, OSError] = {}
        # What happens once while a source is read, and its conversation in the log has been read.
        self.meanwhile: dict[str, Callable[[], object]] = {}
        self.by_position = False
        self.stones: Tombstones | None = None
        # Which were read.
        self.opened: list[str] = []

    def name(self, source: str) -> str:
        """Return the name of a conversation."""
        return f"{self._prefix}/{source}" if source else ""

    def run(self, *names: str) -> Totals:
        """Import sources, in this order."""
        tool = Tool("tool", "Tool", lambda _: (), lambda _: Found([], []), self._open, self.by_position)
        sources = [
            Source(f"/{name}", self.name(name), len(repr(self.steps[name])), 1, self.name(self.fork_of.get(name, "")))
            for name in names
        ]
        seen = Seen(self._seen)
        with Pipeline(Client(self._client.path, name=CLIENT)) as pipeline:
            importer = Importer(pipeline, seen, self.stones)
            importer.look()
            *_, totals = importer.run(tool, sources)
        seen.save()
        return totals

    def _open(self, source: Source) -> Reading:
        name = source.path.removeprefix("/")
        self.opened.append(name)
        return Reading(self.steps[name], self.errors.get(name), self.meanwhile.pop(name, lambda: None))

    def texts(self, name: str) -> list[str]:
        """Return the texts of an agent."""
        return [record["content"] or "" for record in self._client.iter_conversation(self.name(name))]


@pytest.fixture
def histories(client: Client, tmp_path: Path, request: pytest.FixtureRequest) -> Histories:
    """Histories whose names no other test has."""
    return Histories(client, request.node.name.replace("[", "-").replace("]", ""), tmp_path / "seen.json")


def said(*texts: str) -> list[Step]:
    """Return the messages of a conversation, each of which has its text as its id."""
    return [*map(message, texts)]


def message(text: str) -> Said:
    """Return a message that has its text as its id."""
    return Said("user", (Part(text, [{"type": "text", "text": text}]),), {}, None, 7)


def problems(totals: Totals) -> list[str]:
    """Return what the report says."""
    return [str(problem) for problem in totals.counts.problems]


def test_an_import(histories: Histories) -> None:
    """Each source becomes an agent of its name; what it has grown by is added, and what has not changed is not read."""
    histories.steps = {"a": said("one"), "b": said("two", "three"), "none": []}
    first = histories.run("a", "b", "none")
    histories.steps["b"] += said("four")
    again = histories.run("a", "b", "none")

    assert (2, 0, 0, 3, 1) == (first.new, first.grown, first.unchanged, first.messages, first.empty)
    assert (0, 1, 1, 1, 1) == (again.new, again.grown, again.unchanged, again.messages, again.empty)
    assert ["a", "b", "none", "b"] == histories.opened
    assert ["two", "three", "four"] == histories.texts("b")


def test_a_file_without_a_message(histories: Histories) -> None:
    """Nothing is made of the records of such a file: they are not used, and there is no conversation, old or new."""
    histories.steps = {"none": [About(), Kept("note", "n", "Note", {}, None)], "a": said("one")}

    for new, unchanged in ((1, 0), (0, 1)):
        totals = histories.run("none", "a")
        assert (new, unchanged, 1) == (totals.new, totals.unchanged, totals.empty)
        if new:
            assert (3, 1, {WITHOUT_MESSAGE: 2}) == (totals.counts.read, totals.counts.mapped, totals.counts.ignored)


def test_what_is_known(histories: Histories) -> None:
    """Of a source that has grown, the records that were imported before are known, and not stored again."""
    histories.steps = {"a": said("one", "two")}
    first = histories.run("a").counts
    histories.steps["a"] += said("three")
    again = histories.run("a").counts

    assert [(2, 0, 2), (1, 2, 3)] == [(counts.mapped, counts.known, counts.read) for counts in (first, again)]


def test_a_conversation_in_two_files(histories: Histories) -> None:
    """It is counted once, when it is new, when one of its files has grown, and when nothing has changed."""
    histories.steps = {"a": said("one"), "b": said("one", "two"), "c": said("one")}
    name = histories.name("a")
    histories.name = lambda source: name if source else ""  # type: ignore[method-assign]

    def counted() -> tuple[int, ...]:
        totals = histories.run("a", "b", "c")
        return totals.new, totals.grown, totals.unchanged, totals.messages

    assert (1, 0, 0, 2) == counted()
    assert (0, 0, 1, 0) == counted()
    histories.steps["b"] += said("three")
    assert (0, 1, 0, 1) == counted()
    histories.steps["a"] = [About(title="T"), *histories.steps["a"]]  # read again, and nothing new in it
    assert (0, 0, 1, 0) == counted()


def test_what_another_client_purged(histories: Histories, client: Client, tmp_path: Path) -> None:
    """It stays away as well, also from a daemon that was asked by nobody but its retention; what is lost comes back."""
    histories.steps = {name: said(name) for name in ("purged", "lost", "kept")}
    histories.run("purged", "lost", "kept")
    client.purge(histories.name("purged"))
    client.change(histories.name("kept"), name=f"{histories.name('kept')}-renamed")
    seen = Seen(str(tmp_path / "seen.json"))
    seen.add(Source("/lost", histories.name("lost"), 1, 1), {"0" * 32: (1, histories.name("lost"))})
    seen.save()
    histories.stones = Tombstones(str(tmp_path / "purged.json"), "demo")
    again = [histories.run("purged", "lost", "kept") for _ in range(2)]

    assert [[histories.name("purged")]] * 2 == [totals.purged for totals in again]
    assert [histories.name("lost")] == [row.name for row in client.iter_agents(prefix=histories.name("lost"))]
    assert Tombstones(str(tmp_path / "purged.json"), "demo").has(histories.name("purged"))
    assert not Tombstones(str(tmp_path / "purged.json"), "demo").has(histories.name("lost"))


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "reel"])  # our own logs are not read as steps
def test_each_record_of_each_tool_is_accounted_for(name: str, client: Client, tmp_path: Path) -> None:
    """What was read is stored, known, ignored by a rule or unknown: all is stored at first, and known afterwards."""
    sample = SAMPLES[name]
    sample.write(tmp_path, ["One", "Two", "Three", "Four"], f"accounted-{name}")
    tool = tool_named(sample.tool)

    for is_first in (True, False):
        sources = tool.discover(tmp_path).sources
        with Pipeline(Client(client.path, name=CLIENT)) as pipeline:
            importer = Importer(pipeline, Seen(str(tmp_path / "none")))
            importer.look()
            *_, totals = importer.run(tool, sources)
        counts = totals.counts
        assert counts.read == counts.mapped + counts.known + counts.ignored.total() + counts.unknown.total()
        assert (is_first, not is_first) == (counts.mapped > 0, counts.known > 0)
        assert (is_first, is_first, not is_first) == (totals.new > 0, totals.messages > 0, totals.unchanged > 0)


def asked(client: Client) -> Counter[str]:
    """Return how often the daemon was asked for each method, but for its figures."""
    methods = client.stats()["request_seconds"]
    return Counter({method: sum(found["counts"]) for method, found in methods.items() if method != "stats"})


def test_how_often_an_import_asks(histories: Histories, client: Client) -> None:
    """For many small sessions the daemon is asked once in a while; a second import only lists agents."""
    for count in (2, 40):
        names = [f"{count}-{number}" for number in range(count)]
        histories.steps = {name: said("one", "two", "three") for name in names}
        before = asked(client)
        histories.run(*names)
        first = asked(client)
        histories.run(*names)

        assert {"commit": 1} == {
            method: number for method, number in (first - before).items() if method not in ("hello", "agents")
        }
        assert {"hello": 1, "agents": 1} == asked(client) - first
        assert names == histories.opened[-count:]


def test_a_source_that_cannot_be_read_to_its_end(histories: Histories) -> None:
    """What could be read is imported and the reason reported; the source is read again, although it did not change."""
    histories.steps = {"a": said("one")}
    histories.errors["a"] = OSError(5, "Input/output error")
    first = histories.run("a")
    again = histories.run("a")

    assert ["/a: Input/output error"] == problems(first) == problems(again)
    assert (1, 1) == (first.incomplete, again.incomplete)
    assert (["one"], ["a", "a"]) == (histories.texts("a"), histories.opened)


def test_several_conversations_in_one_source(histories: Histories) -> None:
    """Each becomes an agent; one that was forked from another one of the source is a clone of that."""
    histories.steps = {
        "a": [
            *said("one", "two"),
            About("/agent"),
            *said("three"),
            About("/fork", fork_of="/agent"),
            *said("three", "four"),
        ]
    }
    totals = histories.run("a")

    assert (3, 4) == (totals.new, totals.messages)
    assert ["three", "four"] == histories.texts("a/fork")


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_a_fork(histories: Histories, client: Client, names: tuple[str, str]) -> None:
    """It is a clone of its origin if that was imported before; else it is a conversation of its own."""
    histories.steps = {"a": said("one", "two"), "b": said("one", "three")}
    histories.fork_of["b"] = "a"
    histories.run(*names)

    source = client.agent(histories.name("b")).source
    assert ("a", "b") == (names if source else names[::-1])
    assert ["one", "three"] == histories.texts("b")


@pytest.mark.parametrize("read", ["x", "b"])
def test_what_a_fork_is_of_is_purged_meanwhile(histories: Histories, client: Client, read: str) -> None:
    """The fork is not imported, and that is said; every other source is."""
    histories.steps = {"a": said("one"), "x": said("two"), "b": said("one", "three"), "c": said("four")}
    histories.fork_of["b"] = "a"
    histories.run("a")
    histories.meanwhile[read] = lambda: client.purge(histories.name("a"))
    totals, again = histories.run("x", "b", "c"), histories.run("x", "b", "c")

    assert (2, 1) == (totals.new, totals.incomplete)
    assert ["/b: not imported: the conversation that it goes on from is not there; import it again"] == problems(totals)
    assert (1, 0, 2) == (again.new, again.incomplete, again.unchanged)
    assert ["one", "three"] == histories.texts("b")


def test_what_was_changed_here(histories: Histories, client: Client) -> None:
    """Somebody's own words are not written over: what is new goes into an agent beside, and then into that one."""
    histories.steps = {"a": said("one")}
    histories.run("a")
    client.add(histories.name("a"), "mine")
    totals = []
    for text in ("two", "three"):
        histories.steps["a"] += said(text)
        totals.append(histories.run("a"))

    assert [[(histories.name("a"), histories.name("a@2"))], []] == [total.beside for total in totals]
    assert ["one", "mine"] == histories.texts("a")
    assert ["one", "two", "three"] == histories.texts("a@2")


# What is said of a conversation if another client was faster.
OVERTAKEN = "/a: the conversation was changed while it was imported; import it again"


def test_a_person_writes_meanwhile(histories: Histories, client: Client) -> None:
    """Nothing is added behind their words; the next import goes on beside them."""
    histories.steps = {"a": said("one")}
    histories.run("a")
    histories.steps["a"] += said("two")
    histories.meanwhile["a"] = lambda: client.add(histories.name("a"), "a person's")
    totals, again = histories.run("a"), histories.run("a")

    assert ([OVERTAKEN], 1) == (problems(totals), totals.incomplete)
    assert ["one", "a person's"] == histories.texts("a")
    assert [(histories.name("a"), histories.name("a@2"))] == again.beside
    assert ["one", "two"] == histories.texts("a@2")


def counted(tokens: int) -> Step:
    """Return how many tokens an answer took, as far as it is known."""
    return Kept("usage", "tokens", None, {"usage": {"input_tokens": tokens, "output_tokens": 1}}, None)


@pytest.mark.parametrize(
    "steps",
    [
        [counted(1), counted(2)],
        [*said("two"), Compacted(message("sum"), kept=("two",))],
        [*said("two"), Back("one"), *said("three"), Back("two"), *said("four")],
    ],
    ids=["counts", "repeats", "returns"],
)
def test_what_is_read_behind_what_was_refused(histories: Histories, client: Client, steps: list[Step]) -> None:
    """What another client has written at a seq is not taken for what the import would have written there."""
    name, marks = histories.name("a"), 3
    histories.steps = {"a": said("one"), "b": said("other")}
    histories.run("a")
    histories.steps["a"] += steps
    histories.meanwhile["a"] = lambda: [client.mark(name) for _ in range(marks)]
    totals = histories.run("a", "b")
    histories.run("a")

    assert ([OVERTAKEN], 1, 1) == (problems(totals), totals.incomplete, totals.new)
    assert 2 + marks == client.agent(name).head
    assert [OVERTAKEN] != problems(histories.run("a"))


@pytest.mark.parametrize("was_changed", [False, True])
def test_another_import_meanwhile(histories: Histories, client: Client, *, was_changed: bool) -> None:
    """What another one has made is not made again, and keeps no other source from being imported."""
    histories.steps = {"a": said("one"), "b": said("other")}
    if was_changed:
        histories.run("a")
        client.add(histories.name("a"), "a person's")
        histories.steps["a"] += said("two")
    histories.meanwhile["a"] = lambda: histories.run("a")
    totals, again = histories.run("a", "b"), histories.run("a", "b")

    assert ([OVERTAKEN], 1) == (problems(totals), totals.incomplete)
    assert (1, {NOT_STORED: 1}) == (totals.counts.mapped, totals.counts.ignored)
    assert (1, 0, 0, 2) == (totals.new, again.new, again.messages, again.unchanged)
    assert ["one", "two"] == histories.texts("a@2") if was_changed else ["one"] == histories.texts("a")
    assert 2 + was_changed == len([*client.iter_agents(prefix=histories.name("a")[:-1])])


def test_what_was_killed_here(histories: Histories, client: Client) -> None:
    """It is left alone, and read again at the next import: it may have been revived."""
    histories.steps = {"a": said("one")}
    histories.run("a")
    client.kill(histories.name("a"))
    histories.steps["a"] += said("two")
    killed = [histories.run("a").killed for _ in range(2)]
    client.revive(histories.name("a"))
    histories.run("a")

    assert [[histories.name("a")]] * 2 == killed
    assert ["one", "two"] == histories.texts("a")


def test_what_was_renamed_here(histories: Histories, client: Client) -> None:
    """It is found by its tag."""
    histories.steps = {"a": said("one")}
    histories.run("a")
    client.change(histories.name("a"), name=histories.name("mine"))
    histories.steps["a"] += said("two")

    assert (0, 1) == ((totals := histories.run("a")).new, totals.grown)
    assert ["one", "two"] == histories.texts("mine")


def test_a_person_writes_while_messages_are_sent_one_by_one(histories: Histories, client: Client) -> None:
    """Other sources are imported all the same."""
    refused = Said("user", (Part("bad", [{"type": "tool_result", "tool_call_id": "c", "content": ""}]),), {}, None, 7)
    histories.steps = {"a": said("one"), "b": said("other")}
    histories.run("a")
    histories.steps["a"] += [refused, *said("two")]

    def write_at_the_second_look() -> None:
        histories.meanwhile["a"] = lambda: client.add(histories.name("a"), "a person's")

    histories.meanwhile["a"] = write_at_the_second_look
    totals = histories.run("a", "b")

    assert (1, 1) == (totals.incomplete, totals.new)
    assert OVERTAKEN in problems(totals)
    assert ["one", "a person's"] == histories.texts("a")


def test_a_message_that_the_daemon_refuses(histories: Histories) -> None:
    """It is left out and reported with its line; all others of its source are there, and the next source is."""
    call = {"type": "tool_call", "id": "c", "name": "", "arguments": "{}"}
    refused = Said("assistant", (Part("x", [call]),), {}, None, 8)
    histories.steps = {"a": [*said("one"), refused, *said("two")], "b": said("three")}
    totals = histories.run("a", "b")

    (problem,) = problems(totals)
    assert problem.startswith("/a:8: not imported: ")
    assert (["one", "two"], ["three"]) == (histories.texts("a"), histories.texts("b"))
    assert (2, 3) == (totals.new, totals.messages)
    assert 0 == totals.incomplete  # the next import would say the same


def test_an_agent_that_the_daemon_refuses(histories: Histories) -> None:
    """A conversation that cannot be made is reported, and keeps no other one from being imported."""
    histories.steps = {"a b": said("one"), "c": said("other")}
    totals = histories.run("a b", "c")

    assert (1, 1) == (totals.incomplete, totals.new)
    assert problems(totals)[0].startswith("/a b: not imported: ")
    assert ["other"] == histories.texts("c")


def test_a_place_that_was_edited(histories: Histories) -> None:
    """If messages are known by their position, one that says something else now is reported, and nothing is changed."""
    histories.by_position = True
    histories.steps = {"a": [About(tags={SOURCE: "/a"}), *said("one")]}
    histories.run("a")
    edited = Said("user", (Part("one", [{"type": "text", "text": "edited"}]),), {}, None, 7)
    histories.steps["a"] = [About(tags={SOURCE: "/a"}), edited, *said("two")]
    totals = histories.run("a")

    assert 1 == totals.changed
    assert [f"/a:7: changed since it was imported; {histories.name('a')} keeps what it said"] == problems(totals)
    assert ["one", "two"] == histories.texts("a")


def test_two_files_of_one_name(histories: Histories, tmp_path: Path) -> None:
    """Two files are two conversations; a file in place of one that is gone goes on with its conversation."""
    paths = [tmp_path / "first", tmp_path / "second"]
    for path in paths:
        path.touch()
    histories.by_position = True
    for path in paths:
        histories.steps = {"a": [About(tags={SOURCE: str(path)}), *said(path.name)]}
        assert 1 == histories.run("a").new
    paths[0].unlink()
    histories.steps = {"a": [About(tags={SOURCE: str(tmp_path / "third")}), *said("first", "third")]}

    assert 1 == histories.run("a").grown
    assert ["first", "third"] == histories.texts("a")


def test_many_sources(histories: Histories) -> None:
    """The totals are told while it goes on, and at the end they are those of all."""
    histories.steps = {str(number): said(str(number)) for number in range(40)}

    assert (40, 40, 40) == ((totals := histories.run(*histories.steps)).sources, totals.new, totals.messages)
