"""Defines what counts as a word.

SQLite's own tokenizers take a Chinese sentence for one word and drop emoji. A custom tokenizer would have to be
compiled. So texts are rewritten here: FTS5's ``ascii`` tokenizer, which splits at ASCII punctuation and lowers ASCII
letters, then finds our words.

* Case and accents are folded: NFKD, case folding, without the marks of Latin, Greek and Cyrillic letters.
* A character of a script without spaces (Chinese, Japanese, Thai), a syllable of Hangul and an emoji is a word by
  itself. So a query in such a script is a phrase, however short: bigrams would not find a single character.
* Punctuation separates words. ``parse_http_url``, ``a.b.c``, paths and ``--long-options`` are several words; typing one
  of them searches for a phrase.
* ``parseHttpUrl`` is one word, and its parts are words in a separate column: ``parsehttpurl`` finds it, and so
  does ``parse_http_url``.
* Parts of a name that are next to each other are words as well, in a column of their own: ``getuser`` and ``username``
  find ``getUserName``, ``get_user_name`` and ``get-user-name``.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from string import ascii_lowercase, ascii_uppercase, digits
from unicodedata import category, normalize

from reel.base.light_typing import NamedTuple
from reel.base.remembering import remembering

# Scripts that are written without spaces, Hangul, and emoji without skin tones and variation selectors.
_SINGLE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\u2e80-\u2fdf\u3005-\u3007"
    "\u3021-\u3029\u3031-\u3035\u3040-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U0001f000-\U0001f3fa\U0001f400-\U0001faff\U00020000-\U0003ffff"
)
_ACCENTS = re.compile("[\u0300-\u036f]+")
_ASCII_WORD = re.compile("[0-9a-z]+")
# Encoded data: nobody wrote a word of this length.
_SHORTEST_ENCODED = 256
_ENCODED = re.compile(rf"(?<![0-9A-Za-z+/=_-])[0-9A-Za-z+/=_-]{{{_SHORTEST_ENCODED},}}")
# The boundary between two parts of a camel-case word.
_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Each letter as a capital or a small one, as which digits count, and all else as a space; and letters with what divides
# the parts of names.
_CAPITALS, _OTHERS = ascii_uppercase.encode(), (ascii_lowercase + digits).encode()
_IN_WORDS = bytes(ord("A" if byte in _CAPITALS else "a" if byte in _OTHERS else " ") for byte in range(256))
_IN_NAMES = bytes(ord("_" if byte in b"_-" else "a" if byte in _CAPITALS + _OTHERS else " ") for byte in range(256))
# A name whose parts are divided. Names of more parts are rather data, and so is what begins with a digit.
_DIVIDED = re.compile(r"(?<![0-9A-Za-z])[A-Za-z][0-9A-Za-z]*+(?:[_-]++[0-9A-Za-z]++)+")
_MOST_PARTS = 8
_LONGEST_JOIN = 40
# How many names are kept with their parts: a text has the same ones as those before it.
_NAMES = 4096


@cache
def _single() -> re.Pattern[str]:
    """Return the pattern of a character that is a word by itself; compiling takes 10 ms, so startup does not do it."""
    return re.compile(f"[{_SINGLE}]")


@cache
def _word() -> re.Pattern[str]:
    """Return the pattern of a word, including vowel signs and the like, which `re` does not count as letters."""
    candidates = map(chr, chain(range(0x300, 0x1E00), range(0xA600, 0xAC00)))
    marks = "".join(mark for mark in candidates if category(mark)[0] == "M" and not _single().match(mark))
    return re.compile(f"[{_SINGLE}]|(?:[^\\W_{_SINGLE}]|[{marks}])+")


class Indexed(NamedTuple):
    """A text prepared for the index: its words, the parts of its camel-case words, and joined parts of its names."""

    words: str
    parts: str
    joins: str


def fold(text: str) -> str:
    """Return a text with case, accents and width normalized."""
    if text.isascii():
        return text.lower()
    text = normalize("NFKD", normalize("NFKD", text).casefold())
    return normalize("NFC", _ACCENTS.sub("", text))


def words(text: str) -> list[str]:
    """Return the words of a text, folded, in order."""
    folded = fold(text)
    return (_ASCII_WORD if folded.isascii() else _word()).findall(folded)


def parts(text: str) -> list[str]:
    """Return the parts of the camel-case words of a text, folded, in order."""
    return list(_parts(_camel(text)))


def _camel(text: str) -> list[str]:
    """Return the camel-case words of a text, in order."""
    found = [text[begin:end] for begin, end in _places_of_camel(text)]
    return [word for word in found if len(_parts_of(word)) > 1]  # capitals before a digit are no part


def _places_of_camel(text: str) -> Sequence[tuple[int, int]]:
    """Return where the words of a text that may be camel-case begin and end."""
    kinds = text.encode("ascii", "replace").translate(_IN_WORDS) + b" "
    return sorted({*_runs_with(b"aA", kinds), *_runs_with(b"AAa", kinds)}) if b"A" in kinds else []


def _divided(text: str) -> list[str]:
    """Return the runs of letters and dividers in a text that may have names with divided parts, in order."""
    if "_" not in text and "-" not in text:
        return []
    kinds = text.encode("ascii", "replace").translate(_IN_NAMES) + b" "
    return [text[begin:end] for begin, end in _runs_with(b"a_", kinds)]


def _runs_with(wanted: bytes, kinds: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the runs without a space that have these kinds begin and end; `re` takes some times as long."""
    at = kinds.find(wanted)
    while at >= 0:
        end = kinds.find(b" ", at)
        yield kinds.rfind(b" ", 0, at) + 1, end
        at = kinds.find(wanted, end)


def _parts(camel: Iterable[str]) -> Iterator[str]:
    return chain.from_iterable(map(_parts_of, camel))


@remembering(_NAMES)
def _parts_of(word: str) -> Sequence[str]:
    return [part.lower() for part in _BOUNDARY.split(word)]


def _joins(text: str, camel: Iterable[str]) -> Iterable[str]:
    """Return what two or three neighbouring parts of the names in a text are without a divider, and whole names."""
    return dict.fromkeys(chain.from_iterable((*map(_joins_in, _divided(text)), *map(_joins_of, camel))))


@remembering(_NAMES)
def _joins_in(divided: str) -> Sequence[str]:
    return [join for name in _DIVIDED.findall(divided) for join in _joins_of(name)]


@remembering(_NAMES)
def _joins_of(name: str) -> Sequence[str]:
    pieces = [part for piece in name.replace("-", "_").split("_") if piece for part in _parts_of(piece)]
    return [join for join in _joined(pieces) if len(join) <= _LONGEST_JOIN] if len(pieces) <= _MOST_PARTS else []


def _joined(pieces: Sequence[str]) -> Iterator[str]:
    for size in sorted({2, 3, len(pieces)}):
        for at in range(len(pieces) - size + 1):
            yield "".join(pieces[at : at + size])


def indexed(text: str) -> Indexed:
    """Prepare a text for the index."""
    if may_have_word_of(_SHORTEST_ENCODED, text):
        text = _ENCODED.sub(" ", text)
    prepared, camel = text if text.isascii() else " ".join(words(text)), _camel(text)
    return Indexed(prepared, " ".join(_parts(camel)), " ".join(_joins(text, camel)))


def has_encoded(text: str) -> bool:
    """Return whether a text has encoded data, which is not in the index."""
    return may_have_word_of(_SHORTEST_ENCODED, text) and _ENCODED.search(text) is not None


def may_have_word_of(size: int, text: str) -> bool:
    """Return whether a text has so many characters without a space: most have not."""
    at, end = 0, len(text)
    while end - at >= size:
        space = text.rfind(" ", at, at + size)
        if space < 0:
            return True
        at = space + 1
    return False


def is_single(word: str) -> bool:
    """Return whether a word is one character of a script without spaces, or an emoji."""
    return _single().fullmatch(word) is not None


def alternatives(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the phrases that a typed word may stand for, any of which matches; none if it has no word."""
    whole = tuple(words(text))
    divided = tuple(words(_BOUNDARY.sub(" ", text)))
    return tuple(phrase for phrase in dict.fromkeys((whole, divided)) if phrase)


def boundaries(text: str) -> list[int]:
    """Return where the second and later parts of the camel-case words of a text begin."""
    return [found.start() for found in _BOUNDARY.finditer(text)] if _places_of_camel(text) else []


@lru_cache(4096)
def folded_character(character: str) -> str:
    """Return one character folded, with spaces around it if it is a word by itself."""
    if character < "\x80":
        return character.lower()
    found = " ".join(words(character))
    if found:
        return f" {found} " if _single().match(found) else found
    return "" if category(character)[0] == "M" else " "
