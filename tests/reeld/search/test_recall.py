"""Questions with a known answer: no change of the ranking may lose one. ``make recall`` asks many more."""
# ruff: noqa: RUF001 - Cyrillic letters that look like Latin ones, and Chinese punctuation

from collections.abc import Iterator
from contextlib import closing
from itertools import combinations

import pytest

from tests.reeld.search.test_ranking import Index

# Made for this test: what people and models say when they work on a program.
SAID = (
    "The deploy failed because the disk of the build host was full; I removed the old containers.",
    "Use PageRank over the graph of imports to choose the files that matter.",
    "validator.py: class SchemaValidator checks each field and raises InvalidField",
    "def get_user_name(user_id): return users[user_id].name",
    "The token of the session expires after 15 minutes; refreshSessionToken() asks for a new one.",
    "error: cannot find module 'left-pad' imported from src/render/pad.js",
    "We decided to keep the retries in the client, because the server does not know what is idempotent.",
    "Переводы хранятся в объекте JavaScript, а выбранный язык в localStorage.",
    "Die Größe der Warteschlange ist auf 100 Einträge begrenzt, damit der Speicher nicht überläuft.",
    "数据库连接超时的原因是连接池太小，把上限改成五十就好了。",
    "Run the migrations with alembic upgrade head before you start the worker.",
    "CORS: the browser blocks the request, because the redirect goes to another port.",
    "Kategorie produktů se zobrazují v mřížce, na mobilu ve dvou sloupcích.",
    "The flaky test waits for a timer; a fake clock makes it deterministic.",
    "ECONNREFUSED 127.0.0.1:5432: postgres was not started",
    "The icon is drawn with a rounded rectangle and a prompt, in orange.",
)
QUESTIONS = (
    ("why did the deploy fail?", 0),
    ("build host disk space full containers", 0),
    ("pagerank choosing files", 1),
    ("schema validater", 2),
    ("getusername", 3),
    ("user name function", 3),
    ("when does the session token expire", 4),
    ("refresh_session_token", 4),
    ("src/render/pad.js", 5),
    ("left-pad module missing", 5),
    ("where did we decide to put retries", 6),
    ("перевод в объект", 7),
    ("grosse warteschlange", 8),
    ("数据库超时原因", 9),
    ("alembic migration command", 10),
    ("why was my fetch blocked by cors", 11),
    ("kategorii produktu na mobilu", 12),
    ("test flakey clock", 13),
    ("econnrefused 5432", 14),
    ("how was the icon made", 15),
)
# What other texts have of the questions, again and again: what is rare must count for more.
COMMON = (
    "fail",
    "choosing files",
    "session token",
    "module missing",
    "test clock",
    "build disk space",
    "made",
    "fetch",
)
# How the questions begin, and other questions that begin alike: that must not count.
BEGINNINGS = ("why did the", "when does the", "where did we", "why was my", "how was the")
ENDINGS = ("work", "engine", "weather", "answer")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index of what was said, between others that have the frequent words."""
    others = [f"the file {number} is in the list, and so is the user of it" for number in range(40)]
    others += [f"{' and the '.join(some)}, {' and '.join(some)}" for some in combinations(COMMON, 3)]
    others += [f"{beginning} {ending}?" for beginning in BEGINNINGS for ending in ENDINGS]
    with closing(Index(tmp_path_factory.mktemp("index"), [*SAID, *others])) as opened:
        yield opened


@pytest.mark.parametrize(("query", "answer"), QUESTIONS)
def test_answers(said: Index, query: str, answer: int) -> None:
    """The answer is among the first three hits."""
    assert answer in said.best(query)[:3]
