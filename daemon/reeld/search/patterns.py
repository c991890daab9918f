"""Patterns: a piece of text or a regular expression that a text must have, letter by letter.

Regular expressions run in RE2, whose time grows with the text and nothing else. Python's ``re`` goes back and tries
again: a pattern that somebody sends would hold up a thread for years. What is too large to be matched within a second
in the longest text is refused.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from itertools import compress, islice
from typing import Any

from reel.base.errors import InvalidParams
from reel.base.installation import install_command
from reel.base.light_typing import NamedTuple
from reeld.search.literals import Needed, Run, needed_of_any_expression, needed_of_expression
from reeld.search.names import pieces_of
from reeld.search.query import TypedPattern

# Characters of a pattern.
_LONGEST = 1000
# Steps of a compiled expression, and bytes for it and for what it remembers of a text: `[ab]*a[ab]{200}c` has 207
# steps, and takes 0.8 s for a text of a million characters that it was made for. With eight times as many bytes, it
# takes as long, and RE2 0.4 s to compile an expression of 400,000 steps, which is refused then.
_STEPS = 256
_MEMORY = 1 << 20
# How many matches are marked in one text, and the seconds after which no more are looked for.
_MARKED, _MARKING = 1000, 0.02
# Characters of a pattern, or of a part of it, that an error shows.
_SHOWN = 60
# What may stand for the beginning or the end of a text. Nearly all others are sets: `[^a]`.
_ENDS = re.compile(r"(?<!\[)\^|\\\[\^|\$|\\[AzZ]")
# A byte: the places of its matches are none of a text.
_BYTE = re.compile(r"(?<!\\)(?:\\\\)*(\\C)")
_IS_IN_NAME = re.compile("[0-9A-Za-z_]+")
_IS_PLAIN = re.compile(r"[\w\s/\"'#%&,:;<=>@`~!-]*")


class Pattern(NamedTuple):
    """What a text must have, or must not have.

    Args:
        matches: yields the places of the matches in a text.
        is_excluded: whether a text must not have it.
        needed: the letters of every text with it; ``None`` if they are not known.
        is_in_joined: whether joined lines have it if one of them has it, and not nearly always.
        in_name: what a name must have in which it matches, one behind the other; nothing if it matches elsewhere too.
    """

    matches: Callable[[str], Iterator[tuple[int, int]]]
    is_excluded: bool = False
    needed: Needed | None = None
    is_in_joined: bool = True
    in_name: Sequence[str] = ()

    def all_accepted(self, texts: Sequence[str]) -> Sequence[bool]:
        """Return for each of some texts whether it has it, or does not, as it is wanted."""
        if self.is_in_joined and not self.is_in("\n".join(texts)):
            return [self.is_excluded] * len(texts)
        return list(map(self.accepts, texts))

    def accepts(self, text: str) -> bool:
        """Return whether a text has it, or does not, as it is wanted."""
        return self.is_in(text) != self.is_excluded

    def is_in(self, text: str) -> bool:
        """Return whether a text has it."""
        return any(True for _ in self.matches(text))

    def marked(self, text: str) -> list[tuple[int, int]]:
        """Return the matches in a text that are shown; an empty one is not."""
        if self.is_excluded:
            return []
        ends = time.monotonic() + _MARKING
        found: list[tuple[int, int]] = []
        for begin, end in islice(self.matches(text), _MARKED):
            if begin < end:
                found.append((begin, end))
            if time.monotonic() > ends:
                break
        return found


def compiled(typed: Iterable[TypedPattern], *, run_elsewhere: bool = False) -> tuple[Pattern, ...]:
    """Return the patterns of a query, ready to be used.

    Args:
        typed: the patterns.
        run_elsewhere: accept every text that may match a regular expression.

    Raises:
        InvalidParams: one is not a regular expression, or too large; the error says where.
    """
    return tuple(_pattern(each, run_elsewhere=run_elsewhere) for each in typed)


def is_expression(typed: TypedPattern) -> bool:
    """Return whether a pattern has a sign that means something."""
    return typed.is_regex and not _IS_PLAIN.fullmatch(typed.text)


def _pattern(typed: TypedPattern, *, run_elsewhere: bool) -> Pattern:
    if len(typed.text) > _LONGEST:
        raise _refused(typed, f"has {len(typed.text)} characters; at most {_LONGEST} are allowed")
    if is_expression(typed) and run_elsewhere:
        needed = None if typed.is_excluded else needed_of_any_expression(typed.text)
        return Pattern(_beginning, needed=needed, is_in_joined=False)
    if is_expression(typed):
        return Pattern(
            partial(_spans, _expression(typed)),
            typed.is_excluded,
            needed_of_expression(typed.text),
            is_in_joined=_ENDS.search(typed.text) is None,
            in_name=pieces_of(typed.text),
        )
    in_name = pieces_of(typed.text) if _IS_IN_NAME.fullmatch(typed.text) else ()
    return Pattern(partial(_pieces, _lower(typed.text)), typed.is_excluded, Run(typed.text), in_name=in_name)


def having(patterns: Sequence[Pattern], texts: Sequence[tuple[int, str]]) -> list[int]:
    """Return the events whose texts all patterns accept.

    Args:
        patterns: the patterns.
        texts: the events with their texts. To look through them together spares most of the time.
    """
    for pattern in patterns:
        texts = list(compress(texts, pattern.all_accepted([text for _, text in texts])))
    return [event for event, _ in texts]


def _beginning(_text: str) -> Iterator[tuple[int, int]]:
    """Yield an empty place, which every text has."""
    yield 0, 0


def _spans(expression: Any, text: str) -> Iterator[tuple[int, int]]:
    return (found.span() for found in expression.finditer(text))


def _pieces(piece: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of a piece in a text. ``str.find`` is linear; ``re`` would compare it at every place."""
    lower = _lower(text)
    end = 0
    while (begin := lower.find(piece, end)) >= 0:
        end = begin + len(piece)
        yield begin, end


def _lower(text: str) -> str:
    """Return a text in lower case, with as many characters, one sigma, no long s, and the mu of Greek for micro."""
    lower = text.replace("\u0130", "i").lower()
    return lower.replace("\u03c2", "\u03c3").replace("\u017f", "s").replace("\u00b5", "\u03bc")


def _expression(typed: TypedPattern) -> Any:
    try:
        re2 = import_module("re2")
    except ImportError:
        raise InvalidParams(
            "query: the daemon has no google-re2, which a regular expression needs; search for has:TEXT instead, or "
            f"install it where the daemon runs: {install_command('regex')}",
            field="query",
            at=typed.at,
            candidates=True,
        ) from None
    if (byte := _BYTE.search(typed.text)) is not None:
        raise _refused(typed, "has a byte, which may be a part of a character only", part=byte[1])
    options = re2.Options()
    options.case_sensitive = options.log_errors = False
    options.never_capture, options.max_mem = True, _MEMORY
    try:
        expression = re2.compile(typed.text, options)
    except re2.error as error:
        said = error.args[0] if error.args else b""
        told = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise _refused(typed, "is not a regular expression of RE2", *told.partition(": ")[::2]) from None
    if expression.programsize > _STEPS:
        raise _refused(typed, f"is too large: it has {expression.programsize} steps, and at most {_STEPS} are allowed")
    return expression


def _refused(typed: TypedPattern, problem: str, reason: str = "", part: str = "") -> InvalidParams:
    """Return the error for a pattern.

    Args:
        typed: the pattern.
        problem: what is wrong with it; the rest of a sentence that begins with the pattern.
        reason: what RE2 says.
        part: the part that it is about.
    """
    shown = typed.text if len(typed.text) <= _SHOWN else f"{typed.text[:_SHOWN]}…"
    # Where a part is that occurs again, RE2 does not say.
    at = typed.at + 1 + (typed.text.index(part) if typed.text.count(part) == 1 else 0)
    where = f", at character {at} of the query" + (f": {part[:_SHOWN]}" if part else "")
    told = f": {reason}" if reason else ""
    return InvalidParams(f"query: the pattern {shown} {problem}{told}{where}", field="query", at=at)
