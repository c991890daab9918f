"""Send a daemon queries that nobody types, and such that people do, and see how long it takes to answer each.

``make fuzz EVENTS=1000000`` asks them of a large index; it prints the times of each kind. No time fails the test.
"""

import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from reel.base.errors import InvalidParams
from reel.sync.client import Client
from tests.bench.search import corpus
from tests.daemon import Daemon, short_directory, until_indexed
from tests.thoroughness import FUZZ

EVENTS = int(os.environ.get("EVENTS") or "2000")
# Characters of a large query.
_LARGE = 50_000
_SYNTAX = (
    '" - + OR * has: has:" / /a.e/ -has:ba ( ) \' role:user live:no live:yes before:2026 after:1y in:/ file:a tag:a'
)
_SIGNS = "ab修é \"'*-+:/\\()[]{}|.?^$\0\u0130\udfff\U0001f600\n"
# Expressions that go back and try again where they can, or that are large.
_EXPRESSIONS = (
    "(a*)*b",
    "(a|aa)+$",
    "(.*)(.*)(.*)x",
    "a{1000}",
    "((a{1,30}){1,30}){1,30}",
    "[^x]*x",
    "(?i)ba.de",
    "ba[a-z]+",
)
_ORDERS = (None, "newest", "best", "fresh")


def _words(chance: random.Random, texts: list[str]) -> str:
    some = chance.choice(texts).split()
    return " ".join(chance.sample(some, min(len(some), chance.randrange(1, 9))))


def _perhaps(chance: random.Random, texts: list[str]) -> str:
    return _words(chance, texts) if chance.random() < 0.5 else ""


def _mistyped(chance: random.Random, texts: list[str]) -> str:
    word = chance.choice(chance.choice(texts).split())
    at = chance.randrange(len(word))
    return f"{word[:at]}{chance.choice('abxyz')}{word[at + 1 :]} {_words(chance, texts)}"


def _syntax(chance: random.Random, texts: list[str]) -> str:
    pieces = chance.choices((*_SYNTAX.split(), *_words(chance, texts).split()), k=chance.randrange(1, 12))
    return chance.choice(("", " ", " ")).join(pieces)


def _piece(chance: random.Random, texts: list[str]) -> str:
    text = chance.choice(texts)
    at, length = chance.randrange(len(text)), chance.randrange(1, 12)
    return f'{chance.choice(("", "-"))}has:"{text[at : at + length]}" {_perhaps(chance, texts)}'


def _expression(chance: random.Random, texts: list[str]) -> str:
    made = chance.choice((*_EXPRESSIONS, "".join(chance.choices(_SIGNS, k=chance.randrange(1, 20)))))
    return f"/{made}/ {_perhaps(chance, texts)}"


def _signs(chance: random.Random, _texts: list[str]) -> str:
    return "".join(chance.choices(_SIGNS, k=chance.randrange(0, 60)))


def _large(chance: random.Random, texts: list[str]) -> str:
    part = chance.choice(
        (
            *(
                "a",
                '"',
                "-",
                "a* ",
                "ba OR ",
                "has:a ",
                "/a/ ",
                "修",
                "(",
                "role:user ",
                "+ba ",
                "-ba ",
                "x1 ",
                "/(a*)*",
            ),
            f"{_words(chance, texts)} ",
            f'"{_words(chance, texts)}" OR ',
            f"{_words(chance, texts).replace(' ', '_')} ",
            _signs(chance, texts) or "a",
        )
    )
    return (part * (_LARGE // len(part) + 1))[:_LARGE]


KINDS: dict[str, Callable[[random.Random, list[str]], str]] = {
    "words": _words,
    "mistyped": _mistyped,
    "syntax": _syntax,
    "has:": _piece,
    "expressions": _expression,
    "signs": _signs,
    "50 kB": _large,
}


def ask(client: Client, chance: random.Random, texts: list[str], number: int) -> dict[str, list[float]]:
    """Ask so many queries of all kinds; return the seconds of each, by kind.

    Raises:
        ReelError: one was answered with neither hits nor an error about the query.
    """
    took = defaultdict(list)
    for each in range(number):
        kind = [*KINDS][each % len(KINDS)]
        query, order = KINDS[kind](chance, texts), chance.choice(_ORDERS)
        # A Python string may have what is no text; a client of another language sends a replacement.
        query = query.encode(errors="replace").decode()
        began = time.perf_counter()
        try:
            client.search(query, order=order, live=chance.choice((None, None, True)))  # type: ignore[arg-type]
        except InvalidParams as error:
            if error.data["field"] != "query":
                raise
        took[kind].append(time.perf_counter() - began)
    return took


def told(took: dict[str, list[float]]) -> Iterator[str]:
    """Yield a line about the times of each kind."""
    for kind, times in took.items():
        times.sort()
        p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
        slow = sum(each > 1 for each in times)
        yield f"{kind:12} {len(times):6,}  p50 {p50:.3f}  p99 {p99:.3f}  longest {times[-1]:.3f}, {slow} over 1 s"


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """What is said."""
    return corpus(EVENTS).texts


@pytest.fixture
def client(texts: list[str]) -> Iterator[Client]:
    """A client of a daemon in whose index everything is."""
    with short_directory() as directory:
        daemon = Daemon(directory).start()
        try:
            with closing(daemon.client()) as opened:
                for first in range(0, EVENTS, 1000):
                    opened.add(f"agent-{first // 1000}", texts[first : first + 1000], create=True)
                until_indexed(opened)
                yield opened
            assert 0 == daemon.end()
            assert " ERROR " not in daemon.log.read_text(encoding="utf-8", errors="replace")
        finally:
            if daemon.process.poll() is None:
                daemon.kill()


def test_every_query_is_answered(client: Client, texts: list[str]) -> None:
    """Any query is answered with hits, or with what is wrong with its pattern."""
    took = ask(client, random.Random(FUZZ), texts, FUZZ or 140)

    sys.stdout.write("".join(f"{line}\n" for line in told(took)))
    assert set(KINDS) == set(took)
