"""Where the words of a query are in a text, as a person would mark them.

A text is folded as the index folds it, without a change of its length wherever that is possible, so that the words can
be looked for as they are. That takes a hundredth of the time of a loop over the characters.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TypeAlias

from reel.base.light_typing import NamedTuple
from reeld.search.words import boundaries, folded_character, is_single

# How often one word is looked for in one text.
_MOST = 1000
# What is no letter of a folded text. A set with the letters, nearly all of Unicode, takes `re` a hundred times as long.
_OTHERS = r"\x00-/:-`{-\x7f"
_NO_LETTERS = frozenset(re.findall(f"[{_OTHERS}]", "".join(map(chr, range(128)))))
# What is between two words, and the rest of one.
_GAP = re.compile(f"[{_OTHERS}]*")
_REST = re.compile(f"[^{_OTHERS}]*")
_LONGEST_JOIN = 40
# Stands for a character whose folded form has another length. Of no text: by itself, it separates words.
_ODD = "\ue000"


class Form(NamedTuple):
    """One form of a word that is searched for: words in sequence, the last of which may be a prefix."""

    words: tuple[str, ...]
    is_prefix: bool = False


class Mark(NamedTuple):
    """A match in a text: its begin and end, and the number of what was found."""

    begin: int
    end: int
    of: int


# A folded text, what returns the place in the original text of a character of it, and the other way round.
_Folded: TypeAlias = tuple[str, Callable[[int], int], Callable[[int], int]]


def marks(text: str, sought: Sequence[Sequence[Form]]) -> list[Mark]:
    """Return the matches of several things in a text, each with several forms, in order."""
    folded, origin, place = _fold(text)
    found = [
        Mark(begin, end, number)
        for number, forms in enumerate(sought)
        for form in forms
        for begin, end in _matches(folded, form)
    ]
    missing = set(range(len(sought))) - {mark.of for mark in found}
    names = [place(name) for name in boundaries(text)] if missing else []
    if missing and (names or "_" in text or "-" in text):
        found += _in_names(folded, names, {number: sought[number] for number in missing})
    # What folds to nothing belongs to the character before it, and what folds to several is one.
    return sorted(Mark(origin(begin), max(origin(end - 1) + 1, origin(end)), number) for begin, end, number in found)


def are_all(text: str) -> bool:
    """Return whether all words that the index finds in a text are marked, as it is short and has no letters to fold."""
    return len(text) < _MOST and text.isascii()


def _in_names(folded: str, names: Sequence[int], sought: dict[int, Sequence[Form]]) -> Iterator[Mark]:
    """Yield the matches of words that are parts of names, or several parts without what divides them."""
    pieces = [folded[begin:end] for begin, end in zip([0, *names], [*names, len(folded)], strict=True)]
    divided, gaps = " ".join(pieces), [name + number for number, name in enumerate(names)]
    for number, forms in sought.items():
        for form in forms:
            matches = list(_matches(divided, form)) or list(_joined(divided, form))
            for begin, end in matches:
                yield Mark(begin - bisect_right(gaps, begin), end - bisect_right(gaps, end - 1), number)


def _joined(divided: str, form: Form) -> Iterator[tuple[int, int]]:
    if len(form.words) == 1 and form.words[0].isascii() and 1 < len(form.words[0]) <= _LONGEST_JOIN:
        for number, found in enumerate(_across_dividers(form).finditer(divided)):
            if number == _MOST:
                return
            yield found.span()


def _across_dividers(form: Form) -> re.Pattern[str]:
    letters = "[ _-]*".join(form.words[0])
    return re.compile(f"(?<![0-9a-z]){letters}{'' if form.is_prefix else '(?![0-9a-z])'}")


def _fold(text: str) -> _Folded:
    if text.isascii():
        return text.lower(), int, int
    folded = text.translate(_folds())
    odd = [found.start() for found in re.finditer(_ODD, folded)]
    if not odd:
        return folded, int, int
    pieces: list[str] = []
    # Where the pieces begin in the folded text, and in the original one.
    begins: list[int] = []
    origins: list[int] = []
    length = last = 0
    for at in [*odd, len(text)]:
        for piece, begin in ((folded[last:at], last), (folded_character(text[at : at + 1]).strip(), at)):
            pieces.append(piece)
            begins.append(length)
            origins.append(begin)
            length += len(piece)
        last = at + 1

    def origin(at: int) -> int:
        number = bisect_right(begins, at) - 1
        # A piece with an odd number is one character of the text.
        return origins[number] + (0 if number % 2 else at - begins[number])

    def place(at: int) -> int:
        number = bisect_right(origins, at) - 1
        return begins[number] + at - origins[number]

    return "".join(pieces), origin, place


class _Folds(dict[int, str]):
    """The folded form of each character that was asked for: a blank if it separates words, or what marks an odd one."""

    def __missing__(self, code: int) -> str:
        folded = folded_character(chr(code))
        folded = folded.strip() or folded[:1]
        self[code] = folded if len(folded) == 1 else _ODD
        return self[code]


@cache
def _folds() -> _Folds:
    return _Folds()


def _matches(folded: str, form: Form) -> Iterator[tuple[int, int]]:
    """Yield the places of a form in a folded text."""
    first = form.words[0]
    begin = folded.find(first)
    for _ in range(_MOST):
        if begin < 0:
            return
        end = _end(folded, begin, form)
        if end is not None:
            yield begin, end
        begin = folded.find(first, begin + 1 if end is None else end)


def _end(folded: str, begin: int, form: Form) -> int | None:
    """Return where a form ends that may begin at a place; ``None`` if it does not."""
    if not _divides(folded, begin):
        return None
    end = begin + len(form.words[0])
    for word in form.words[1:]:
        if not _divides(folded, end):
            return None
        end = _GAP.match(folded, end).end()  # type: ignore[union-attr]  # nothing matches as well
        if not folded.startswith(word, end):
            return None
        end += len(word)
    if form.is_prefix:
        return _REST.match(folded, end).end()  # type: ignore[union-attr]  # nothing matches as well
    return end if _divides(folded, end) else None


def _divides(folded: str, at: int) -> bool:
    """Return whether a word may begin or end at a place."""
    if not at or folded[at - 1] in _NO_LETTERS or at == len(folded) or folded[at] in _NO_LETTERS:
        return True
    around = folded[at - 1 : at + 1]
    return not around.isascii() and any(map(is_single, around))
