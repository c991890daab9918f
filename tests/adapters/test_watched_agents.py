"""Real coding agents under ``reel import --watch``: what each sent to its model is what reel says of the conversation.

``make adapters`` lets each work for one session; ``make watched WATCHED_SECONDS=3600`` for an hour.
"""

import difflib
import json
import os
import queue
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from reel import requests
from reel.said.formats import Format
from reel.said.messages import NewMessage, Record
from reel.sync.client import Client
from tests.adapters.asked_blocks import Block, blocks_of, conversation_of, without_end
from tests.adapters.at_work.agents import AGENTS
from tests.adapters.at_work.place import Place
from tests.adapters.at_work.session import Session
from tests.adapters.programs import program
from tests.adapters.scripted.answers import Answer, Failure, Held, Part, Shell, Thought, Use, Words
from tests.adapters.scripted_provider import Asked, Provider, scripted_provider
from tests.daemon import Daemon
from tests.patience import LONGEST, Deadline

SECONDS = float(os.environ.get("WATCHED_SECONDS", "0"))
SEED = int(os.environ.get("WATCHED_SEED", "0"))
REEL = [sys.executable, "-c", "from reel.cli import process; process()"]
# What a session does, as often as it is here; a session of `make adapters` does each once.
_ACTS = (
    *("turn", "turn", "turn", "parallel", "sub_agent", "failure", "interrupt", "kill"),
    *("kill_in_call", "resume", "rewind", "fork", "compact", "rename"),
)
_SHOWN = 40
_NOT_EQUAL = "not equal"
# Between two looks whether a call runs.
_PAUSE = 0.05
# Where everything is kept that a run has, if something is not as it should be; and what is not worth it.
_KEPT = Path(__file__).parents[2] / "build/watched"
_FETCHED = ("node_modules", ".cache", ".npm", ".git")


class Work:
    """What somebody does with an agent.

    Args:
        session: the session.
        provider: the model's provider.
        chance: what decides.
        seen: waits until an import has stored an answer with this word.
    """

    def __init__(
        self, session: Session, provider: Provider, chance: random.Random, seen: Callable[[str], None]
    ) -> None:
        self._session = session
        self._provider = provider
        self._chance = chance
        self._seen = seen
        self._newest = ""
        # The words of the turns that the agent has deleted.
        self.deleted: list[str] = []

    def do(self, acts: Sequence[str]) -> None:
        """Open the session, do some things, and close it."""
        self._session.open()
        self.turn()
        for act in acts:
            getattr(self, act)()
        self._session.close()

    def _say(self, *middle: Answer) -> None:
        word = self._provider.script(lambda word: [*middle, self._end(word)])
        self._session.ask(self._prompt(word))
        self._session.finish()
        assert self._provider.spent(word), f"{word} is not spent"
        self._newest = word

    def _prompt(self, word: str) -> str:
        return f"{self._chance.choice(('Please do', 'Zeig mir bitte', 'Now the next one:', '次は'))} {word}"

    def _end(self, word: str) -> Answer:
        more: list[Part] = [Thought("It is done.")] if self._chance.random() < 1 / 2 else []
        return [*more, Words("A line of text.\n" * self._chance.randrange(3) + f"Ended {word}")]

    def _step(self, calls: int) -> Answer:
        first: list[Part] = [Thought("First a look.")] if self._chance.random() < 1 / 2 else []
        words: list[Part] = [Words("I look at it.")] if self._chance.random() < 1 / 2 else []
        commands = ("echo one", "echo 'two words'", "false", "printf 'a\\nb\\n'", "seq 200")
        return [*first, *words, *(Shell(self._chance.choice(commands)) for _ in range(calls))]

    def turn(self) -> None:
        """Say something, with some calls one after the other."""
        self._say(*(self._step(1) for _ in range(self._chance.randrange(3))))

    def parallel(self) -> None:
        """Calls at once."""
        self._say(self._step(3))

    def failure(self) -> None:
        """A request fails, and is sent again."""
        self._say([Failure(500)], self._step(1))

    def sub_agent(self) -> None:
        """Let another agent work."""
        inner = self._provider.script(lambda word: [self._step(1), [Words(f"Ended {word}")]])
        call = self._session.sub_agent(inner)
        if call is None:
            self.turn()
            return
        self._say([Words("Somebody else looks."), Use(*call)])
        assert self._provider.spent(inner), f"{inner} is not spent"

    def _begin_held(self) -> None:
        held: list[Part] = [Words("It begins."), Held("It goes on, and on.")]
        word = self._provider.script(lambda _: [self._step(1), held])
        self._session.ask(self._prompt(word))
        assert self._provider.held(word), f"{word} is not held"

    def interrupt(self) -> None:
        """Interrupt an answer."""
        self._begin_held()
        self._session.interrupt()
        self.turn()

    def kill(self) -> None:
        """Kill the agent in the middle of an answer, and go on."""
        self._begin_held()
        self._session.kill()
        self._session.open()
        self.turn()

    def kill_in_call(self) -> None:
        """Kill the agent while a call runs, perhaps beside some that end at once, and go on."""
        begun = self._session.place.home / f"begun-{self._session.tool}"
        begun.unlink(missing_ok=True)
        quick = Shell("echo quick")
        calls = [quick, Shell(f"touch {begun}; sleep 60"), quick]
        first = self._chance.randrange(2)
        called = calls[first : self._chance.randrange(2, 4)]
        self._session.ask(self._prompt(self._provider.script(lambda _: [[Words("It begins."), *called]])))
        deadline = Deadline()
        while not begun.exists():
            assert not deadline.is_over, "the call does not run"
            time.sleep(_PAUSE)  # between two looks
        self._session.kill()
        self._session.open()
        self.turn()

    def resume(self) -> None:
        """End the agent, and go on."""
        self._session.close()
        self._session.open()
        self.turn()

    def rewind(self) -> None:
        """Take the last turn back; some agents delete it."""
        self.turn()
        self._seen(self._newest)
        if self._session.rewind():
            self.deleted.append(self._newest)
        self.turn()

    def fork(self) -> None:
        """Go on in a copy."""
        self._session.fork()
        self.turn()

    def compact(self) -> None:
        """Sum up."""
        self._session.compact()
        self.turn()

    def rename(self) -> None:
        """Give it a title."""
        self._session.rename(f"Title {self._newest}")
        self.turn()


@contextmanager
def watching(home: Path, daemon: Daemon) -> Iterator[None]:
    """Run an import for a block."""
    command = [*REEL, "import", "--yes", "--watch"]
    with (home / "watch.log").open("wb") as log:
        running = subprocess.Popen(command, env=_environment(home, daemon), stdout=log, stderr=log)
    try:
        yield
        assert running.poll() is None, (home / "watch.log").read_text()
    finally:
        running.send_signal(signal.SIGINT)
        running.wait(LONGEST)


def _environment(home: Path, daemon: Daemon) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("LANG", "PYTHONPATH", "PATH") if name in os.environ}
    return {**kept, "HOME": str(home), "REEL_SOCKET": daemon.socket, "XDG_STATE_HOME": f"{daemon.socket}.state"}


def seen(daemon: Daemon) -> Callable[[str], None]:
    """Return what waits until an import has stored the answer with a word."""

    def wait(word: str) -> None:
        deadline = Deadline()
        with daemon.client() as client:
            while not client.search(f'"Ended {word}"').hits:
                assert not deadline.is_over, f"{word} was not imported"
                time.sleep(0.2)  # between two looks

    return wait


class Kept(NamedTuple):
    """What a daemon has of a conversation."""

    title: str | None
    tags: dict[str, str]
    said: list[Any]


def kept(client: Client) -> dict[str, Kept]:
    """Return what a daemon has now, by names."""
    found = {}
    for page in client.pages(requests.agents()):
        for row in page.agents:
            records = [each for part in client.pages(requests.conversation(row.id)) for each in part.conversation]
            found[row.name] = Kept(row.title, row.tags, [_said(record) for record in records])
    return found


def _said(record: Record) -> tuple[str, Any, Any]:
    """Return who says something, what, and what is known of it."""
    data = json.loads(record["data_json"] or "{}")
    blocks = data.pop("blocks", None) or [{"type": "text", "text": record["content"]}]
    return record["kind"], data, blocks


class States:
    """What reel says that models were sent, and answered.

    Args:
        client: of the daemon.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._found: dict[tuple[str, Format], dict[tuple[Block, ...], str]] = {}

    def of(self, tool: str, api: Format) -> dict[tuple[Block, ...], str]:
        """Return the blocks of each request and answer of an agent, and where they are."""
        if (tool, api) not in self._found:
            self._found[tool, api] = dict(self._read(tool, api))
        return self._found[tool, api]

    def _read(self, tool: str, api: Format) -> Iterator[tuple[tuple[Block, ...], str]]:
        for page in self._client.pages(requests.agents(prefix=f"{tool}/")):
            for row in page.agents:
                for events in self._client.pages(requests.history(row.id, kinds=["user", "assistant", "tool_result"])):
                    for event in events.events:
                        seq = event["seq"]
                        # Thinking at the very end is not sent; a question after an answer shows it.
                        then = [_THEN] if event["kind"] == "assistant" else None
                        # Inside a turn, `at` alone means its end.
                        body = self._client.render(
                            row.id, api, at=seq, upto=seq, then=then, **_AS_ASKED.get(api, {})
                        ).body
                        blocks = conversation_of(tool, api, json.loads(body))
                        yield tuple(without_end(blocks, str(_THEN["content"])) if then else blocks), f"{row.name}@{seq}"


# Of Chat Completions, a server that takes all reasoning back, and nothing in its place: the agents' settings say so.
_AS_ASKED: dict[str, Any] = {"openai-chat": {"dialect": "qwen", "extra": {"preserve_thinking": True}}}
_THEN: NewMessage = {"role": "user", "content": "And then?"}


class Report:
    """What was compared.

    Args:
        home: where the agents have their files.
        asked: all requests.
        deleted: the words of the turns, and the names of the conversations, that the agents have deleted.
    """

    def __init__(self, home: Path, asked: Sequence[Asked], deleted: AbstractSet[str]) -> None:
        self._files = [*contents(home)]
        self._deleted = deleted
        # What the agents have sent as the result of each call.
        self._results: defaultdict[str, set[str]] = defaultdict(set)
        for kind, *values in (block for each in asked for block in blocks_of(each.api, each.body)):
            if kind == "result":
                self._results[values[0]].add(values[1])
        self.counts: Counter[tuple[str, str]] = Counter()
        self.differences: list[str] = []

    def compare(self, tool: str, asked: Asked, watched: States, fresh: States) -> None:
        """Compare a request and its answer with what reel has, and with what it has of a fresh import."""
        if not asked.scripted or asked.has_failed:
            self.counts[tool, "of no conversation, or failed"] += 1
            return
        want = tuple(conversation_of(tool, asked.api, asked.body))
        whole = (*want, *asked.said)
        states, others = watched.of(tool, asked.api), fresh.of(tool, asked.api)
        found, afresh = (self._found(tool, asked, want, each) for each in (states, others))
        self.counts[tool, found] += 1
        if found == _NOT_EQUAL:
            self.differences.append(_difference(tool, asked, whole, states))
        elif found != afresh and {asked.word, *_names_of(want, states)} & self._deleted:
            self.counts[tool, f"{found}, and deleted by the agent: {afresh} in a fresh import"] += 1
        elif found != afresh:
            told = _difference(tool, asked, whole, others)
            self.differences.append(f"{found}, and in a fresh import {afresh}: {told}")

    def _found(self, tool: str, asked: Asked, want: tuple[Block, ...], states: Collection[tuple[Block, ...]]) -> str:
        """Return how a request and its answer are found among what reel has."""
        whole = (*want, *asked.said)
        if asked.is_whole and whole in states:
            return "equal"
        is_asked = any(state[: len(want)] == want for state in states)
        if not asked.is_whole and is_asked:
            return "cut, and equal up to its answer"
        if asked.is_whole and is_asked and self._has_unwritten(asked.said):
            return "equal up to its answer, which is in no file of the agent"
        if not all(self._is_written(tool, block) for block in whole) or (
            not asked.is_whole and any(map(self._is_forgotten, want))
        ):
            return "lost by the agent when it was killed"
        return _NOT_EQUAL

    def _is_written(self, tool: str, block: Block) -> bool:
        """Whether an agent has written a call, or a result, to its files; what it had in memory only is gone."""
        # A result of Claude Code is a record of its own. In the files of the others, it has the id of its call as well.
        result = f'"tool_use_id":"{block[1]}"' if tool == "claude-code" else block[1]
        sought = {"call": block[1], "result": result}.get(block[0])
        return sought is None or any(sought.encode() in file for file in self._files)

    def _has_unwritten(self, said: Sequence[Block]) -> bool:
        """Whether an answer has a text whose last line, with the word of its script, is in no file: it is lost."""
        ends = (block[1].rstrip().rpartition("\n")[2] for block in said if block[0] == "assistant")
        forms = ({end, json.dumps(end)[1:-1], json.dumps(end, ensure_ascii=False)[1:-1]} for end in ends)
        return any(not any(form.encode() in file for form in each for file in self._files) for each in forms)

    def _is_forgotten(self, block: Block) -> bool:
        """Whether it is a result of which the agent said something else at another time: it had not written it."""
        return block[0] == "result" and len(self._results[block[1]]) > 1


def _names_of(want: tuple[Block, ...], states: Mapping[tuple[Block, ...], str]) -> Iterator[str]:
    """Yield the names of the conversations that have had these blocks, whatever they go on with."""
    for state, place in states.items():
        if state[: len(want)] == want:
            yield place.rpartition("@")[0]


def contents(home: Path) -> Iterator[bytes]:
    """Yield what is in the files of the agents; of a database, the values, which its pages may have in pieces."""
    for path in home.glob(".*/**/*"):
        if path.is_file():
            data = path.read_bytes()
            yield data
            if data.startswith(b"SQLite format 3\0"):
                with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
                    yield b"\n".join(_values(database))


def _values(database: sqlite3.Connection) -> Iterator[bytes]:
    for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for row in database.execute(f'SELECT * FROM "{table}"'):
            yield from (value if type(value) is bytes else str(value).encode() for value in row)


def _difference(tool: str, asked: Asked, want: Sequence[Block], found: dict[tuple[Block, ...], str]) -> str:
    def likeness(state: tuple[Block, ...]) -> float:
        return difflib.SequenceMatcher(None, state, want, autojunk=False).ratio()

    nearest: tuple[Block, ...] = max(found, key=likeness, default=())
    lines = difflib.ndiff([*map(repr, want)], [*map(repr, nearest)])
    told = "\n".join(f"    {line[:300]}" for line in lines if line[0] in "+-")
    end = "whole" if asked.is_whole else "cut"
    return f"{tool} request {asked.number} ({asked.api}, {end}), nearest {found.get(nearest)}:\n{told}"


class Works:
    """Lets agents work, session after session: as many at once as there are processors, and each in its turn.

    Args:
        place: where they work.
        seen_by: waits until an import has stored an answer with a word.
        problems: what went wrong; is added to.
    """

    def __init__(self, place: Place, seen_by: Callable[[str], None], problems: list[str]) -> None:
        # The words of the turns that the agents have deleted.
        self.deleted: set[str] = set()
        self._place = place
        self._seen_by = seen_by
        self._problems = problems
        self._next: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
        self.sessions: Counter[str] = Counter()

    def do(self, tools: Sequence[str], deadline: float) -> None:
        """Let each work until the time is over, at least for one session."""
        for tool in tools:
            AGENTS[tool].prepare(self._place)
            self._next.put((tool, 0))
        threads = [threading.Thread(target=self._do, args=(deadline,)) for _ in range(os.cpu_count() or 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _do(self, deadline: float) -> None:
        while True:
            try:
                tool, number = self._next.get_nowait()
            except queue.Empty:
                return
            if number and time.monotonic() > deadline:
                continue
            self._session(tool, number)
            self._next.put((tool, number + 1))

    def _session(self, tool: str, number: int) -> None:
        found, chance = program(tool), random.Random(f"{SEED} {tool} {number}")
        assert found is not None
        project = self._place.project(f"{tool}-{number % 3}")
        made = AGENTS[tool](found, self._place, project, chance.choice(AGENTS[tool].models))
        acts = [*_ACTS]
        chance.shuffle(acts)
        self.sessions[tool] += 1
        work = Work(made, self._place.provider, chance, self._seen_by)
        try:
            work.do(acts if not SECONDS else acts[: chance.randrange(3, 13)])
        except Exception:
            self._problems.append(f"{tool} session {number}, {acts}: {traceback.format_exc()}")
            with suppress(Exception):
                made.kill()
        self.deleted.update(work.deleted)


def of_tool(program_name: str) -> str:
    """Return the tool that calls itself so."""
    signs = {"claude-cli": "claude", "codex": "codex", "geminicli": "gemini", "opencode": "opencode"}
    signs["ai-sdk"] = "opencode"
    return next((tool for sign, tool in signs.items() if sign in program_name.lower()), "pi")


@pytest.mark.timeout(0)
def test_agents_that_are_watched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each request that a model got is what reel says of the conversation, and a fresh import says the same."""
    tools = os.environ.get("WATCHED_TOOLS", " ".join(AGENTS)).split()
    there = [tool for tool in tools if program(tool) and (tool != "gemini" or shutil.which("tmux"))]
    if not there:
        pytest.skip("no agent is installed")
    with kept_if_it_fails(tmp_path):
        works, report, told, deleted = watched(tmp_path, there)
        (tmp_path / "report").write_text("\n".join(told))
        with capsys.disabled():
            print(f"\nsessions: {dict(works.sessions)}; not installed: {sorted({*tools} - {*there})}")  # noqa: T201
            print("\n".join(f"{tool}: {what}: {count}" for (tool, what), count in sorted(report.counts.items())))  # noqa: T201
            if deleted:
                print(f"kept, and deleted by the agent: {deleted}")  # noqa: T201
        assert [] == told[:_SHOWN]


def watched(home: Path, tools: Sequence[str]) -> tuple[Works, Report, list[str], list[str]]:
    """Let agents work, and compare.

    Returns:
        The works, the report, all that is not as it should be, and the conversations that the agents have deleted.
    """
    problems: list[str] = []
    with ExitStack() as stack:
        provider = stack.enter_context(scripted_provider())
        daemon = stack.enter_context(daemon_in(home / "watched"))
        works = Works(Place(home, provider), seen(daemon), problems)
        try:
            with watching(home, daemon):
                works.do(tools, time.monotonic() + SECONDS)
                other, differences, deleted = stack.enter_context(until_alike(home, daemon))
        finally:
            (home / "asked.jsonl").write_text("".join(f"{json.dumps(vars(asked))}\n" for asked in provider.asked))
        states, fresh = (States(stack.enter_context(each.client())) for each in (daemon, other))
        report = Report(home, provider.asked, {*deleted, *works.deleted})
        for asked in provider.asked:
            report.compare(AGENTS[of_tool(asked.program)].tool, asked, states, fresh)
    return works, report, [*problems, *report.differences, *differences], deleted


@contextmanager
def kept_if_it_fails(home: Path) -> Iterator[None]:
    """Keep the files of the agents, the daemon's database, the requests and the report of a block that fails."""
    try:
        yield
    except BaseException as error:
        kept = Path(os.environ.get("WATCHED_KEPT", _KEPT)) / time.strftime("%Y-%m-%d-%H%M%S")
        shutil.copytree(home, kept, symlinks=True, ignore=_left_out)
        error.add_note(f"everything is kept in {kept}")
        raise


def _left_out(directory: str, names: list[str]) -> set[str]:
    """Return what the agents have fetched, and what is no file, such as a socket."""
    paths = [Path(directory, name) for name in names]
    return {path.name for path in paths if path.name in _FETCHED or not (path.is_file() or path.is_dir())}


@contextmanager
def daemon_in(directory: Path) -> Iterator[Daemon]:
    """Run a daemon in a directory for a block."""
    directory.mkdir()
    with closing(Daemon(directory)) as daemon:
        yield daemon.start()


def imported_afresh(home: Path, daemon: Daemon) -> dict[str, Kept]:
    """Return what an import into another daemon makes of what the agents have kept."""
    with (home / "fresh.log").open("ab") as log:
        subprocess.run([*REEL, "import", "--yes"], env=_environment(home, daemon), check=False, stdout=log, stderr=log)
    with daemon.client() as client:
        return kept(client)


@contextmanager
def until_alike(home: Path, daemon: Daemon) -> Iterator[tuple[Daemon, list[str], list[str]]]:
    """Wait until an import has the same as a fresh one, for as long as it may take.

    Of an answer whose agent was killed, either takes what there is only when nobody has written to it for a while.

    Yields:
        The daemon of the fresh one, the differences, and the conversations that only the first one has, because the
        agent has deleted their files.
    """
    deadline = Deadline()
    while True:
        # With what it has from the look before, it would not be fresh.
        shutil.rmtree(home / "fresh", ignore_errors=True)
        with daemon_in(home / "fresh") as other:
            fresh = imported_afresh(home, other)
            with daemon.client() as client:
                there = kept(client)
            deleted = [name for name in sorted(there.keys() - fresh.keys()) if _is_deleted(there[name])]
            differences = [
                f"{name} watched: {_shortly(there.get(name), fresh.get(name))}"
                for name in sorted({*there, *fresh} - {*deleted})
                if there.get(name) != fresh.get(name)
            ]
            if not differences or deadline.is_over:
                yield other, differences, deleted
                return
        time.sleep(1)  # between two looks


def _is_deleted(conversation: Kept) -> bool:
    return not Path(conversation.tags.get("source", "")).exists()


def _shortly(watched: Kept | None, fresh: Kept | None) -> str:
    if watched is None or fresh is None:
        return "not there" if watched is None else "there, and not in a fresh import"
    before, after = ([each.title or "", str(each.tags), *map(str, each.said)] for each in (watched, fresh))
    lines = difflib.ndiff(before, after)
    return "\n".join(["differs", *(f"    {line[:300]}" for line in lines if line[0] in "+-")])
