"""Which letters a text must have for a pattern to match: all trigrams of some pieces of the pattern.

They are an expression for FTS5 over texts whose tokens are trigrams. It may find too many texts, but never too few. So
what an expression means is only followed as far as it is plain: pieces of letters, groups and alternatives. Anything
else is passed over, and where that cannot be told either, nothing is known.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

_LENGTH = 3
# The most trigrams of a piece, of a pattern, and the most alternatives and levels that are followed.
_OF_A_PIECE, _MOST = 16, 48
_ALTERNATIVES, _LEVELS = 16, 8
_GROUP = re.compile(r"\?(?:P?<\w+>|[imsU-]*:)")
_FLAGS = re.compile(r"\?[imsU-]+\)")
_REPEATED = re.compile(r"(?:[*+?]|\{(?P<least>\d+)(?:,\d*)?\})\??")
# A set of characters; a bracket at its beginning is one of them.
_SET = re.compile(r"\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]", re.DOTALL)
# An escape that stands for something else than the character behind the backslash.
_ESCAPE = re.compile(r"\\(?:[pPx]\{[^}]*\}|[pP].|x[0-9A-Fa-f]{2}|[0-7]{1,3}|[A-PR-Za-z])", re.DOTALL)
# An escape of a letter or a digit that is not one of the usual ones, `{,2}`, and `[[:alpha:]]`.
_READ_DIFFERENTLY = re.compile(r"\\[^wdsbWDSB\W]|\{,|\[:")
_END_OF_RUN = frozenset(".^$")


class _Unknown(Exception):
    """What an expression means cannot be told."""


def folded(text: str) -> str:
    """Return a text as its trigrams are stored: two texts that a pattern takes for the same have the same ones."""
    return text.replace("\u0130", "i").casefold()


def needed_of_piece(piece: str) -> str | None:
    """Return what every text with a piece has; ``None`` if that is not known."""
    return _all(_quoted(piece))


def needed_of_expression(expression: str) -> str | None:
    """Return what every text with a match of a regular expression has; ``None`` if that is not known."""
    with suppress(_Unknown):
        found = _Reader(expression).alternatives(0)
        return found if found is not None and found.count('"') <= 4 * _MOST else None
    return None


def needed_of_any_expression(expression: str) -> str | None:
    """Return what every text with a match has, though it may not be RE2 that runs the expression.

    Other engines read some of what RE2 reads in another way. Where one of these may be, nothing is known.
    """
    return None if _READ_DIFFERENTLY.search(expression) else needed_of_expression(expression)


def _all(needed: Iterable[str]) -> str | None:
    return " AND ".join(dict.fromkeys(needed)) or None


def _quoted(piece: str) -> Iterator[str]:
    """Yield trigrams of a piece, spread over it, as FTS5 takes them."""
    letters = folded(piece)
    last = len(letters) - _LENGTH
    for at in range(0, last + 1, max(1, -(-last // _OF_A_PIECE))):
        trigram = letters[at : at + _LENGTH]
        # What is no text is in no text of the log, and FTS5 would end a query at a NUL.
        if "\0" not in trigram and not any("\ud800" <= letter <= "\udfff" for letter in trigram):
            doubled = trigram.replace('"', '""')
            yield f'"{doubled}"'


class _Reader:
    """Reads an expression that RE2 accepts, from its beginning to its end."""

    def __init__(self, expression: str) -> None:
        self._text = expression
        self._at = 0

    def alternatives(self, level: int) -> str | None:
        """Return what is needed for any of the alternatives up to the end, or to that of a group."""
        found = [self._sequence(level)]
        while self._at < len(self._text) and self._text[self._at] == "|":
            self._at += 1
            found.append(self._sequence(level))
        if not level and self._at < len(self._text):
            raise _Unknown
        if None in found or len(found) > _ALTERNATIVES:
            return None
        return found[0] if len(found) == 1 else f"({' OR '.join(f'({each})' for each in found)})"

    def _sequence(self, level: int) -> str | None:
        """Return what is needed for all that follows, up to the next alternative."""
        needed: list[str] = []
        run: list[str] = []

        def end_run() -> None:
            needed.extend(_quoted("".join(run)))
            run.clear()

        while self._at < len(self._text) and self._text[self._at] not in "|)":
            letter, group = self._letter(), None
            if letter is None and self._text[self._at] == "(":
                group = self._group(level)
            elif letter is None:
                self._skip()
            least = self._least()
            if letter is not None and least:
                run.append(letter)
            if letter is None or least != 1 or self._repeats:
                end_run()
            if group is not None and least:
                needed.append(group)
        end_run()
        return _all(needed[:_MOST])

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

    def _group(self, level: int) -> str | None:
        if (flags := _FLAGS.match(self._text, self._at + 1)) is not None:
            self._at = flags.end()
            return None
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
