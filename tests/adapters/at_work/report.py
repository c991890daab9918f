"""Compares what models were sent, and answered, with what reel says of the conversations."""

import difflib
import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing
from pathlib import Path
from typing import Any

from reel import requests
from reel.said.formats import Format
from reel.said.messages import NewMessage
from reel.sync.client import Client
from tests.adapters.asked_blocks import Block, blocks_of, conversation_of, without_end
from tests.adapters.scripted_provider import Asked

_NOT_EQUAL = "not equal"


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
