"""``make recall TRANSCRIPTS=DIR QUESTIONS=FILE``: how often a search finds the answer, beside FTS5 with ``OR``.

A second table has how often an agent reads the answer, in two or three calls of ``reel mcp``.

``DIR`` has a folder for each tool, as ``reel import`` names them, with what that tool keeps. Nothing of it is changed.
"""

import os
import re
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from reel.cli.line.run import run
from reel.sync.client import Client
from reeld.search.texts import text_of
from tests.bench.search import caught_up
from tests.bench.setting import running
from tests.recall.agent import WAYS, Place, agent
from tests.recall.questions import Found, Question, ask, read

# The conversation and the text of an event, by its id.
Texts = dict[int, tuple[str, str]]


def main(transcripts: Path, questions: Path) -> None:
    """Print a table."""
    asked = read(questions)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with running(directory) as daemon:
            client = daemon.client()
            for tool in sorted(transcripts.iterdir()):
                with redirect_stdout(StringIO()), redirect_stderr(StringIO()):  # what it cannot read, it leaves out
                    run(["--socket", daemon.socket, "import", "--yes", tool.name, str(tool)])
            caught_up(client)
            texts = _texts(directory / "reel.db")
            print(f"{len(texts):,} messages in {len({name for name, _ in texts.values()})} conversations")
            print(f"{'':32}  first query at 1, 5, 10  best of three at 5  the question at 5")
            _print("reel, best", _all(client, texts, asked, "best"))
            for kind in sorted({question.kind for question in asked}):
                _print(f"  {kind}", _all(client, texts, [each for each in asked if each.kind == kind], "best"))
            _print("reel, every word", _all(client, texts, asked, "newest"))
            _print_agents(daemon.socket, _with_places(asked, texts, _places(directory / "reel.db")))
        with closing(_plain(texts)) as plain:
            _print("FTS5, OR and bm25", ask(asked, lambda query: [texts[row] for row in _rows(plain, query)]))


def _texts(database: Path) -> Texts:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        connection.text_factory = lambda text: text.decode(errors="replace")
        query = "SELECT e.id, a.name, e.kind, e.content, e.data_json FROM events e JOIN agents a ON a.id = e.agent"
        rows = [(event, name, text_of(*row)) for event, name, *row in connection.execute(query)]
    return {event: (name, text) for event, name, text in rows if text}


def _places(database: Path) -> dict[int, Place]:
    """Return the conversation and the seq of each event, by its id."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        query = "SELECT e.id, a.name, e.seq FROM events e JOIN agents a ON a.id = e.agent"
        return {event: (name, seq) for event, name, seq in connection.execute(query)}


def _with_places(
    questions: Sequence[Question], texts: Texts, places: dict[int, Place]
) -> list[tuple[Question, set[Place]]]:
    """Return questions with the places of their answers."""
    return [
        (each, {places[event] for event, found in texts.items() if each.is_answered_by(*found)}) for each in questions
    ]


def _print_agents(socket: str, questions: Sequence[tuple[Question, set[Place]]]) -> None:
    print(f"{'through reel mcp':32}  answer read  its words  of {len(questions)}; longest reply")
    with agent(socket) as asking:
        for name, way in WAYS.items():
            found = asking.recall(questions, way)
            print(f"  {name:30}  {found.read:11}  {found.shown:9}  {found.longest:19,} bytes")


def _all(client: Client, texts: Texts, questions: Sequence[Question], order: str) -> Found:
    def search(query: str) -> list[tuple[str, str]]:
        hits = client.search(query, order=order, limit=10).hits  # type: ignore[arg-type]  # one of the orders
        return [texts[hit.id] for hit in hits]

    return ask(questions, search)


def _plain(texts: Texts) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'unicode61')")
    connection.executemany(
        "INSERT INTO texts (rowid, text) VALUES (?, ?)", ((id_, text) for id_, (_, text) in texts.items())
    )
    return connection


def _rows(plain: sqlite3.Connection, query: str) -> list[int]:
    words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
    found = plain.execute("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 10", (words,))
    return [row for (row,) in found]


def _print(name: str, found: Found) -> None:
    first = ", ".join(f"{count}" for count in found.first.values())
    print(f"{name:32}  {first:>15} of {found.questions:<4} {found.best_of_three:>18}  {found.itself:>17}")


if __name__ == "__main__":
    given = [os.environ.get(name) for name in ("TRANSCRIPTS", "QUESTIONS")]
    if not all(given):
        sys.exit("name what to ask: make recall TRANSCRIPTS=DIR QUESTIONS=FILE; tests/recall/questions.py has the form")
    main(*(Path(str(path)) for path in given))
