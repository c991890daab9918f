"""Runs regular expressions over texts that may match them, where the daemon has no engine whose time is bounded.

Python's ``re`` goes back and tries again, and may take years. So it runs in a process of its own, which is ended after
a second of processor time. It is the engine only if google-re2 is missing here too.
"""

from __future__ import annotations

import json
import re
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from itertools import islice

from reel.base.errors import InvalidParams
from reel.base.installation import install_command
from reel.base.light_typing import TYPE_CHECKING
from reel.base.this_python import this_python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TypeAlias

    from reel.replies import Expression, Hit, HitsPage
    from reel.requests import Call
    from reel.sync.methods import Methods

    # Yields the places of the matches in a text.
    Matches: TypeAlias = Callable[[str], Iterator[tuple[int, int]]]

# Seconds of processor time for the texts of a page, seconds that a busy machine may take for that, and bytes of memory.
_SECONDS = 1
_PATIENCE = 30.0
_MEMORY = 1 << 30
# Matches that are marked in a text, and which part of a snippet precedes the first one.
_MARKED = 1000
_BEFORE = 1 / 4
# The texts of a page end with the first one beyond a megabyte, so one asks for as many as there may be.
_PAGE = 1000
_CASE = "(?-i)"


def matching_pages(client: Methods, call: Call[HitsPage]) -> Iterator[HitsPage]:
    """Yield the pages of a search whose expressions are run here.

    Args:
        client: asks the daemon.
        call: the search.

    Raises:
        InvalidParams: an expression is not valid, or takes too long.
    """
    size = call.params.get("snippet") or 240
    for page in client.pages(call._replace(params={**call.params, "candidates": True, "limit": _PAGE})):
        yield page._replace(hits=_matching(page, size))


def _matching(page: HitsPage, size: int) -> list[Hit]:
    """Return those of the hits that match, as they are shown."""
    found = matched(page.expressions or [], [hit.text or "" for hit in page.hits])
    return [
        _shown(hit, [place for place in places if place[0] < place[1]], size)
        for hit, places in zip(page.hits, found, strict=True)
        if places is not None
    ]


def _shown(hit: Hit, matches: Sequence[tuple[int, int]], size: int) -> Hit:
    """Return a hit with the piece of its text that has the first match of an expression."""
    if hit.text is None or not matches:
        return hit._replace(text=None)
    begin = max(0, min(matches[0][0] - int(size * _BEFORE), len(hit.text) - size))
    piece = hit.text[begin : begin + size]
    inside = [[max(0, first - begin), min(last - begin, size)] for first, last in matches if first < begin + size]
    return hit._replace(text=None, snippet=piece, matches=inside)


def matched(expressions: Sequence[Expression], texts: Sequence[str]) -> list[list[tuple[int, int]] | None]:
    """Return the places of the matches in each text; ``None`` if it has no match of one, or one of an excluded one.

    Raises:
        InvalidParams: an expression is not valid, or takes too long.
    """
    asked = json.dumps([[each.text, each.excluded] for each in expressions]), json.dumps(texts)
    process = [*this_python(), "-m", __name__]
    try:
        ran = subprocess.run(  # noqa: S603 - this file
            process, input="\n".join(asked), capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise _refused("takes too long to match") from None
    if ran.returncode in {-signal.SIGXCPU, -signal.SIGKILL}:
        raise _refused("takes too long to match")
    if ran.returncode:
        raise _refused("needs too much memory, or crashes Python's re")
    found = json.loads(ran.stdout)
    if isinstance(found, str):
        raise _refused(f"cannot be used: {found}")
    return [places if places is None else [(first, last) for first, last in places] for places in found]


def _refused(problem: str) -> InvalidParams:
    return InvalidParams(
        f"query: the expression {problem}; it runs here, because the daemon has no google-re2. Install that where the "
        f"daemon runs: {install_command('regex')}",
        field="query",
    )


def main() -> None:
    """Read expressions and texts, and write the places of the matches in each text, or what is wrong."""
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS + 1))  # holds also if nobody waits any more
    with suppress(ValueError, OSError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    expressions, texts = map(json.loads, sys.stdin)
    try:
        engines = [(_engine(expression), excluded) for expression, excluded in expressions]
    except (ValueError, RecursionError, OverflowError) as error:
        found: Any = str(error) or type(error).__name__
    else:
        found = [_places(engines, text) for text in texts]
    json.dump(found, sys.stdout)


def _engine(expression: str) -> Matches:
    """Return what finds an expression.

    Raises:
        ValueError: it is not valid.
    """
    try:
        re2 = import_module("re2")
    except ImportError:
        flags = 0 if expression.startswith(_CASE) else re.IGNORECASE
        try:
            compiled: Any = re.compile(expression.removeprefix(_CASE), flags)
        except re.error as error:
            raise ValueError(f"{error} in {expression[:60]}") from None
    else:
        options = re2.Options()
        options.case_sensitive = options.log_errors = False
        try:
            compiled = re2.compile(expression, options)
        except re2.error as error:
            raise ValueError(f"{error} in {expression[:60]}") from None
    return lambda text: (found.span() for found in compiled.finditer(text))


def _places(engines: Sequence[tuple[Matches, bool]], text: str) -> list[tuple[int, int]] | None:
    places: list[tuple[int, int]] = []
    for matches, excluded in engines:
        found = list(islice(matches(text), 1 if excluded else _MARKED))
        if bool(found) == excluded:
            return None
        places += found
    return sorted(places)


if __name__ == "__main__":
    main()
