"""Which letters a text must have for a pattern to match.

It may be too few letters, but never too many. So what an expression means is only followed as far as it is plain: runs
of letters, groups and alternatives. Anything else is passed over, and where that cannot be told either, nothing is
known.

From them it is told which events have the trigrams of these letters (:mod:`reeld.search.candidates`), and which rows of
the log may have them as they are stored (:mod:`reeld.search.raw_rows`).
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeAlias

from reel.base.light_typing import NamedTuple

# The most alternatives and levels that are followed.
_ALTERNATIVES, _LEVELS = 16, 8
# The most runs of letters of which one must be there: `(abc|def)ghi` is two.
_RUNS = 8
_GROUP = re.compile(r"\?(?:P?<\w+>|[imsU-]*:)")
# Flags; RE2 repeats what is before them if they seem to be repeated.
_FLAGS = re.compile(r"\?[imsU-]+\)(?![*+?{])")
_REPEATED = re.compile(r"(?:[*+?]|\{(?P<least>\d+)(?:,\d*)?\})\??")
# A set of characters; a bracket at its beginning is one of them.
_SET = re.compile(r"\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]", re.DOTALL)
# An escape that stands for something else than the character behind the backslash.
_ESCAPE = re.compile(r"\\(?:[pPx]\{[^}]*\}|[pP].|x[0-9A-Fa-f]{2}|[0-7]{1,3}|[A-PR-Za-z])", re.DOTALL)
# An escape of a letter or a digit that is not one of the usual ones, `{,2}`, and `[[:alpha:]]`.
_READ_DIFFERENTLY = re.compile(r"\\[^wdsbWDSB\W]|\{,|\[:")
_END_OF_RUN = frozenset(".^$")


class Run(NamedTuple):
    """Letters in a row, in either case."""

    letters: str


class Every(NamedTuple):
    """All of some parts."""

    parts: "tuple[Needed, ...]"


class Either(NamedTuple):
    """At least one of some parts."""

    parts: "tuple[Needed, ...]"


Needed: TypeAlias = Run | Every | Either


class _Unknown(Exception):
    """What an expression means cannot be told."""


def folded(text: str) -> str:
    """Return the letters of a text in which trigrams are looked for: in either case, they are the same."""
    return text.replace("\u0130", "i").casefold()


def needed_of_expression(expression: str) -> Needed | None:
    """Return what every text with a match of a regular expression has; ``None`` if that is not known."""
    with suppress(_Unknown):
        return _Reader(expression).alternatives(0).needed
    return None


def needed_of_any_expression(expression: str) -> Needed | None:
    """Return what every text with a match has, though it may not be RE2 that runs the expression.

    Other engines read some of what RE2 reads in another way. Where one of these may be, nothing is known.
    """
    return None if _READ_DIFFERENTLY.search(expression) else needed_of_expression(expression)


class _Part(NamedTuple):
    """A part of an expression.

    Args:
        needed: what every text with a match of it has; ``None`` if that is not known.
        texts: all that it matches, if that is known and little.
    """

    needed: Needed | None = None
    texts: Sequence[str] = ()


def _any_of(runs: Sequence[str]) -> Needed:
    return Run(runs[0]) if len(runs) == 1 else Either(tuple(map(Run, runs)))


class _Reader:
    """Reads an expression that RE2 accepts, from its beginning to its end."""

    def __init__(self, expression: str) -> None:
        self._text = expression
        self._at = 0

    def alternatives(self, level: int) -> _Part:
        """Return what is needed for any of the alternatives up to the end, or to that of a group."""
        found = [self._sequence(level)]
        while self._at < len(self._text) and self._text[self._at] == "|":
            self._at += 1
            found.append(self._sequence(level))
        if not level and self._at < len(self._text):
            raise _Unknown
        if len(found) == 1:
            return found[0]
        known = tuple(part.needed for part in found if part.needed is not None)
        is_known = len(known) == len(found) <= _ALTERNATIVES
        texts = [text for part in found for text in part.texts] if all(part.texts for part in found) else []
        return _Part(Either(known) if is_known else None, texts)

    def _sequence(self, level: int) -> _Part:
        """Return what is needed for all that follows, up to the next alternative."""
        needed: list[Needed] = []
        runs, is_one_run = [""], True

        def end_run() -> None:
            nonlocal runs, is_one_run
            if all(runs):
                needed.append(_any_of(runs))
            runs, is_one_run = [""], False

        while self._at < len(self._text) and self._text[self._at] not in "|)":
            part = self._part(level)
            least = self._least()
            longer = [run + text for run in runs for text in part.texts]
            if least and 0 < len(longer) <= _RUNS:
                runs = longer
            else:
                end_run()
                needed += [part.needed] if least and part.needed is not None else []
            if least != 1 or self._repeats:
                end_run()
        texts = runs if is_one_run else []
        end_run()
        return _Part(Every(tuple(needed)) if needed else None, texts)

    def _part(self, level: int) -> _Part:
        """Read a character, a group, or what stands for one of several characters or for a place."""
        if (letter := self._letter()) is not None:
            return _Part(Run(letter), [letter])
        if self._text[self._at] == "(":
            return self._group(level)
        self._skip()
        return _Part()

    def _letter(self) -> str | None:
        """Read a character that stands for itself; ``None`` if none follows."""
        text, at = self._text, self._at
        if text[at] == "\\":
            if at + 1 < len(text) and not text[at + 1].isalnum():
                self._at += 2
                return text[at + 1]
            return None
        if text[at] in _END_OF_RUN or text[at] in "([":
            return None
        self._at += 1
        return text[at]

    def _group(self, level: int) -> _Part:
        if (flags := _FLAGS.match(self._text, self._at + 1)) is not None:
            self._at = flags.end()
            return _Part()
        if level == _LEVELS:
            raise _Unknown
        self._at += 1
        if self._text.startswith("?", self._at):
            named = _GROUP.match(self._text, self._at)
            if named is None:
                raise _Unknown
            self._at = named.end()
        found = self.alternatives(level + 1)
        if not self._text.startswith(")", self._at):
            raise _Unknown
        self._at += 1
        return found

    def _skip(self) -> None:
        """Read what stands for one of several characters, or for a place."""
        if self._text[self._at] in _END_OF_RUN:
            self._at += 1
            return
        found = (_SET if self._text[self._at] == "[" else _ESCAPE).match(self._text, self._at)
        if found is None:
            raise _Unknown
        self._at = found.end()

    def _least(self) -> int:
        """Read how often what was read must be there at least."""
        least, self._repeats = 1, False
        while (found := _REPEATED.match(self._text, self._at)) is not None:
            self._at, self._repeats = found.end(), True
            least *= int(found["least"] if found["least"] is not None else found[0][0] == "+")
        return least
