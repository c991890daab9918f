"""``reel search /EXPRESSION/`` where the daemon has no google-re2."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reel import requests
from reel.base.errors import InvalidParams
from reel.cli.commands.shared.expressions import matched
from reel.cli.commands.shared.searches import pages
from reel.replies import Expression, Hit
from reel.sync.client import Client
from tests.daemon import Daemon, short_directory, until_indexed

from .test_processes import on_terminal


@pytest.fixture(scope="module")
def without_re2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Processes that are started do not find google-re2."""
    hiding = tmp_path_factory.mktemp("hiding")
    (hiding / "re2.py").write_text("raise ImportError('hidden')\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(hiding), os.environ.get("PYTHONPATH")])))
        yield


@pytest.fixture(scope="module")
def client(without_re2: None) -> Iterator[Client]:  # noqa: ARG001 - it is for the daemon
    """A client of a daemon that has no google-re2, and what was said there."""
    with short_directory() as directory:
        daemon = Daemon(directory).start()
        try:
            with daemon.client() as opened:
                opened.add(
                    "demo", ["call getUserName()", "call setUserName()", f"{'x' * 900} getItName", "é"], create=True
                )
                opened.add("large", [f"{'abcd' * 60_000} tape" for _ in range(6)], create=True)
                until_indexed(opened)
                yield opened
        finally:
            daemon.kill()


def found(client: Client, query: str, **more: object) -> list[Hit]:
    """Return the hits of all pages."""
    call = requests.search(query, **more)  # type: ignore[arg-type]
    return [hit for page in pages(client, call) for hit in page.hits]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (r"/get\w+Name/", [4, 2]),
        (r"/GET\w+name/", [4, 2]),
        (r"/(?-i)GET\w+name/", []),
        (r"/\w+User\w+/ -/get.*/", [3]),
        (r"call /[gs]et\w+/", [3, 2]),
        (r"/\u00e9$/", [5]),
        (r"/nowhere\d/", []),
    ],
)
def test_the_client_runs_expressions(client: Client, query: str, expected: list[int]) -> None:
    """Hits are those that an engine in the daemon would find, marked where they match, without whole texts."""
    hits = found(client, f"agent:demo {query}", order="fresh", snippet=40)

    assert expected == [hit.seq for hit in hits]
    for hit in hits:
        assert hit.text is None
        assert len(hit.snippet) <= 40
        assert hit.matches


def test_pages_of_large_texts(client: Client) -> None:
    """A page ends with the first text beyond a megabyte, and the next one goes on."""
    call = requests.search("agent:large /d(ab)c/", candidates=True, limit=100)
    sizes = [[hit.seq for hit in page.hits] for page in client.pages(call)]

    # The first event may match as long as it is in no block of trigrams: other tests may have filled one.
    assert sizes in ([[7, 6, 5, 4, 3], [2, 1]], [[7, 6, 5, 4, 3], [2]])
    assert [7, 6, 5, 4, 3, 2] == [hit.seq for hit in found(client, "agent:large /d(ab)c/")]


@pytest.mark.parametrize("order", ["newest", "best", "fresh", None])
def test_candidates_without_an_expression(client: Client, order: Any) -> None:
    """Whatever the order, no hit is lost where a page of large texts ends."""
    call = requests.search("agent:large tape", candidates=True, order=order, limit=100)

    assert [[7, 6, 5, 4, 3], [2]] == [[hit.seq for hit in page.hits] for page in client.pages(call)]


def test_what_would_find_something(client: Client) -> None:
    """At a terminal, a query without hits is told what less of it would find, also if that has an expression."""
    query = r"agent:demo nothing /get\w+Name/"

    told = on_terminal("--socket", str(client.path), "search", query)

    assert f"reel: no matches for {query}; 2 without nothing\n" == told


@pytest.mark.usefixtures("without_re2")
@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        (r"(a*)*b", "takes too long"),
        ("(", r"cannot be used: missing \), unterminated subpattern"),
        (r"\pL", r"cannot be used: bad escape \\p"),
        ("(" * 25_000 + ")" * 25_000, "cannot be used"),
        ("(a|b" * 10_000 + ")" * 10_000, "cannot be used"),
        (f"{'a*' * 25_000}b", "takes too long"),
        ("x{4294967295}", "cannot be used"),
    ],
)
def test_hostile_expressions(expression: str, problem: str) -> None:
    """What would go on for years is ended after a second, whatever its size; what is none is refused; both say why."""
    with pytest.raises(InvalidParams, match=f"query: the expression .*{problem}.*Install"):
        matched([Expression(expression, excluded=False)], [f"{'a' * 40_000}c"])


def test_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that dies is no reason to guess."""
    monkeypatch.setattr("sys.executable", "/bin/false")

    with pytest.raises(InvalidParams, match="crashes"):
        matched([Expression("a+", excluded=False)], ["a"])


def test_files_beside_the_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module in the directory in which somebody searches is not imported."""
    (tmp_path / "json.py").write_text("raise SystemExit(1)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    assert [[(0, 1)]] == matched([Expression("a", excluded=False)], ["a"])
