"""Rows about searching, beside a plain FTS5 table of the same texts and ``grep`` in a file of them.

``EVENTS=1000000 make bench ROW=search`` measures a large index; it takes five minutes.
"""

import json
import os
import random
import sqlite3
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import accumulate, count, cycle, pairwise
from pathlib import Path
from typing import NamedTuple

from reel.sync.client import Client
from tests.bench.setting import Daemon, Setting, running
from tests.bench.table import Line, median, percentile, timed

_EVENTS = int(os.environ.get("EVENTS", "100000"))
# So many texts are made word by word; the others have halves of two of them.
_MADE = 100_000
_QUERIES = 200
# So many of the newest events wait for more before they get trigrams.
_WAITING = 10_000
# Seconds and number of the slices in which adds are measured.
_SLICE = 0.7
_ROUNDS = 20
# The program of a daemon without an index.
_UNINDEXED = "tests.bench.unindexed"
_SYLLABLES = [
    "ba",
    "de",
    "fi",
    "go",
    "hu",
    "ka",
    "le",
    "mi",
    "no",
    "pu",
    "ra",
    "se",
    "ti",
    "vo",
    "wu",
    "xa",
    "ye",
    "zi",
    "cho",
    "shan",
    "tri",
    "plo",
]
_HAN = "修复认证模块搜索索引文件错误测试数据库连接超时重试用户消息对话历史记录"
_ACCENTED = str.maketrans("aeiou", "áéïöü")


class Question(NamedTuple):
    """What a person types, and the number of the text that answers it."""

    query: str
    answer: int


class Corpus(NamedTuple):
    """Texts as people, models and tools write them, and questions about some of them."""

    texts: list[str]
    questions: list[Question]


def corpus(events: int) -> Corpus:
    """Return the same texts each time: a few words are frequent, and most are rare."""
    chance = random.Random(16)
    words = ["".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4))) for _ in range(30_000)]
    weights = list(accumulate(1 / (rank + 5) for rank in range(len(words))))
    halves = [chance.choices(words, cum_weights=weights, k=20) for _ in range(2 * min(events, _MADE))]
    texts = [" ".join(first + second) for first, second in zip(halves[::2], halves[1::2], strict=True)]
    texts += [" ".join(chance.choice(halves) + chance.choice(halves)) for _ in range(events - len(texts))]
    questions = []
    for number in range(_QUERIES):
        place = chance.randrange(events)
        written, query = _planted(number, chance)
        texts[place] += f" {written}"
        questions.append(Question(query, place))
    return Corpus(texts, questions)


def _planted(number: int, chance: random.Random) -> tuple[str, str]:
    """Return something that is said once, and what a person types to find it."""
    first, second, third = ("".join(chance.choices(_SYLLABLES, k=5)) for _ in range(3))
    han = "".join(chance.choices(_HAN, k=8))
    return (
        (f"{first} {second}", f"{second} {first}"),
        (f"call {first}_{second}_{third}()", f"{first}_{second}"),
        (f"call {first}{second.title()}{third.title()}()", f"{second} {third}"),
        (f"Traceback: /usr/lib/{first}/{second}.py:{number} E{chance.getrandbits(40):x}", f"{first}/{second}.py"),
        (f"请看{han}的说明", han[2:6]),
        (f"{han[:3]}{first}模块", f"{han[1:3]}{first}"),
        (f"le {first.translate(_ACCENTED)} est", first),
        (f"run --{first}-{second}", f"--{first}-{second}"),
    )[number % 8]


def search(setting: Setting) -> Iterator[Line]:
    """Measure an index: how it is built, how long questions take, and how soon something new is found."""
    said, directory = corpus(_EVENTS), setting.new_directory()
    size = sum(len(text.encode()) for text in said.texts)
    index = directory / "search.db"
    # The index is built later, by itself.
    with running(directory, _UNINDEXED) as daemon:
        client = daemon.client()
        for first in range(0, _EVENTS, 1000):
            client.add(f"agent-{first // 1000}", list(said.texts[first : first + 1000]), create=True)
    with running(directory) as daemon:
        took = timed(lambda: caught_up(daemon.client()))
    yield Line("events a second into the index", f"{_EVENTS / took:,.0f}", None, None, ">= 20,000")
    yield Line("its size", f"{index.stat().st_size >> 20} MB", f"the size of the text ({size >> 20} MB)",
               index.stat().st_size / size, "<= 1.0")  # fmt: skip
    with running(directory) as daemon:
        client = daemon.client()
        client.ping()
        first_query = timed(lambda: client.search(said.questions[0].query))
        yield Line("the first query after a start", _ms(first_query), None, None, "< 200 ms")
        with closing(_plain(setting.new_directory(), said.texts)) as plain:
            yield from _questions(client, plain, said)
            yield from _best(client, plain, said)
            yield from _letters(client, said)
            yield from _recall(client, plain, said)
        yield from _beside_others(daemon, said.texts)
    lines = setting.new_directory() / "messages.jsonl"
    lines.write_text("".join(f"{json.dumps({'text': text}, ensure_ascii=False)}\n" for text in said.texts))
    grep = median(lambda: subprocess.run(["grep", "-rF", said.questions[1].query, lines.parent], check=False,
                                         stdout=subprocess.DEVNULL), 5)  # fmt: skip
    yield Line("grep -r in the same as JSON Lines", _ms(grep))


def caught_up(client: Client) -> None:
    """Wait until everything is in the index."""
    while (stats := client.stats())["search_behind"] or not stats["search_indexed"]:
        time.sleep(0.1)  # nothing tells when


def _plain(directory: Path, texts: list[str]) -> sqlite3.Connection:
    connection = sqlite3.connect(directory / "plain.db")
    connection.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'unicode61')")
    connection.executemany("INSERT INTO texts VALUES (?)", ((text,) for text in texts))
    connection.commit()
    return connection


def _questions(client: Client, plain: sqlite3.Connection, said: Corpus) -> Iterator[Line]:
    chance = random.Random(17)
    pairs = [" ".join(chance.choice(said.texts).split()[:2]) for _ in range(_QUERIES)]
    for what, queries, goals in (
        ("two words", pairs, ("< 10 ms", "< 50 ms")),
        ("a prefix", [f"{query[:3]}*" for query in pairs], ("< 30 ms", "")),
        ("a word of most events", ["ba OR de OR fi OR go"] * 20, ("< 10 ms", "< 50 ms")),
    ):
        ours = [timed(lambda: client.search(query)) for query in queries]  # noqa: B023
        theirs = statistics.median(timed(lambda: _ask(plain, query)) for query in queries)  # noqa: B023
        beside = f"a plain table, in the process ({theirs * 1e3:.1f} ms)"
        yield Line(f"{what}, p50", _ms(statistics.median(ours)), beside, None, goals[0])
        yield Line(f"{what}, p99", _ms(percentile(ours, 99)), None, None, goals[1])


def _best(client: Client, plain: sqlite3.Connection, said: Corpus) -> Iterator[Line]:
    """Measure ranked hits, beside ``bm25`` of a plain table over the same rows, whose words may be missing too."""
    chance = random.Random(18)
    for words in (2, 6):
        queries = [" ".join(chance.choice(said.texts).split()[:words]) for _ in range(_QUERIES)]
        ours = [timed(lambda: client.search(query, order="best")) for query in queries]  # noqa: B023
        theirs = [timed(lambda: _ask(plain, " OR ".join(query.split()), "rank")) for query in queries]  # noqa: B023
        for name, figure in (("p50", statistics.median), ("p99", lambda times: percentile(times, 99))):
            mine, its = figure(ours), figure(theirs)
            beside = f"bm25 of a plain table, in the process ({_ms(its)})"
            yield Line(
                f"the best of {words} words, {name}",
                _ms(mine),
                beside,
                mine / its,
                "< 10 ms" if name == "p50" else "< 50 ms",
            )


def _letters(client: Client, said: Corpus) -> Iterator[Line]:
    """Measure searches for letters in a row, when the index has what they need."""
    while client.stats()["search_without_trigrams"] > _WAITING:
        time.sleep(0.1)  # nothing tells when
    chance = random.Random(19)
    texts = [chance.choice(said.texts) for _ in range(_QUERIES)]
    words = [max(text.split(), key=len) for text in texts]
    for what, queries in (
        ("nine letters of a text", [f'has:"{text[4:13]}"' for text in texts]),
        ("a word with two letters exchanged", [f"has:{word[:3]}{word[4]}{word[3]}{word[5:]}" for word in words]),
        ("an expression for a word and another one", [rf"/{one[:5]}\w+{two[-3:]}/" for one, two in pairwise(words)]),
    ):
        took = [timed(lambda: client.search(query)) for query in queries]  # noqa: B023
        yield Line(f"{what}, p50", _ms(statistics.median(took)))
        yield Line(f"{what}, p99", _ms(percentile(took, 99)), None, None, "< 300 ms")


def _ask(plain: sqlite3.Connection, query: str, order: str = "rowid DESC") -> list[int]:
    words = " OR ".join(f'"{word}"' for word in query.split(" OR ")) if " OR " in query else query
    asked = words if words.endswith("*") or " OR " in words else " ".join(f'"{word}"' for word in words.split())
    found = plain.execute(f"SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY {order} LIMIT 10", (asked,))
    return [row - 1 for (row,) in found]


def _recall(client: Client, plain: sqlite3.Connection, said: Corpus) -> Iterator[Line]:
    def ours(question: Question) -> bool:
        hits = client.search(question.query, order="best", limit=10).hits
        return any(
            hit.name == f"agent-{question.answer // 1000}" and hit.seq == question.answer % 1000 + 2 for hit in hits
        )

    found = statistics.fmean(map(ours, said.questions))
    other = statistics.fmean(question.answer in _ask(plain, question.query, "rank") for question in said.questions)
    yield Line(
        f"recall@10 of {len(said.questions)} questions", f"{found:.2f}", f"a plain table ({other:.2f})", None, ">= 0.98"
    )


def _beside_others(daemon: Daemon, texts: list[str]) -> Iterator[Line]:
    """Measure how soon an add is found while another client adds, and a search while others search for much."""
    client = daemon.client()

    def add_and_find(number: int) -> None:
        client.add("news", f"needle{number}", create=True)
        while not client.search(f"needle{number}").hits:
            time.sleep(0.01)  # nothing tells when

    with _loaded(daemon, lambda other, number: other.add("load", texts[number % 1000], create=True)):
        found = [timed(partial(add_and_find, number)) for number in range(40)]
    yield Line("an add is found while others add, p99", _ms(percentile(found, 99)), None, None, "< 1000 ms")
    heavy = ('"ba de fi go"', "ba* de* fi* go* hu*", " OR ".join(_SYLLABLES))
    with _loaded(daemon, lambda other, number: other.search(heavy[number % 3], order="best")):
        quick = [timed(lambda: client.search(f"xyzzy{number}")) for number in range(100)]  # noqa: B023
    yield Line("a search beside large ones, p99", _ms(percentile(quick, 99)), None, None, "< 100 ms")


@contextmanager
def _loaded(daemon: Daemon, action: Callable[[Client, int], object]) -> Iterator[None]:
    """Let another client do something again and again until the block ends."""
    ended = threading.Event()

    def load() -> None:
        with daemon.client() as other:
            for number in count():
                if ended.is_set():
                    return
                action(other, number)

    loader = threading.Thread(target=load)
    loader.start()
    try:
        yield
    finally:
        ended.set()
        loader.join()


def adds_beside_the_index(setting: Setting) -> Iterator[Line]:
    """Measure a lone add with the index and without.

    A slice is as long as several batches of the index, and the next one begins when everything is in it, so that each
    daemon bears its own costs. The ratio is the median of those of each pair of slices: one pair differs from the next
    by a tenth.
    """
    with running(setting.new_directory()) as indexed, running(setting.new_directory(), _UNINDEXED) as bare:
        ours, theirs = indexed.client(), bare.client()
        texts = cycle(corpus(2000).texts)
        for client in (ours, theirs):
            client.create("demo")
        pairs = []
        for number in range(_ROUNDS + 1):
            order = (ours, theirs) if number % 2 else (theirs, ours)
            took = {}
            for client in order:
                took[client] = _slice(client, texts)
                caught_up(ours)
            pairs.append((took[ours], took[theirs]))
    del pairs[0]
    ratio = statistics.median(with_index / bare_add for with_index, bare_add in pairs)
    own, other = (statistics.median(figures) for figures in zip(*pairs, strict=True))
    yield Line("a durable add, with the index", f"{own * 1e6:.0f} us", f"the time without ({other * 1e6:.0f} us)",
               ratio, "<= 1.05")  # fmt: skip


def _slice(client: Client, texts: Iterator[str]) -> float:
    """Return the seconds that an add takes."""
    began, number = time.perf_counter(), 0
    while (took := time.perf_counter() - began) < _SLICE:
        client.add("demo", next(texts))
        number += 1
    return took / number


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"
