"""The form of an item: its JSON without the texts that its messages have already.

Theory of operation
-------------------

An item that is added becomes messages, which every client can read. These have no place for some of its parts: an id, a
status, an empty list. So the item's own JSON is stored as well, as its *form*. In the form, every text that the
messages have too is a reference, so that nothing is stored twice.

The form and the messages restore the item without the code that converted it. Rejected: storing the difference from the
output of the format's writer. That is a third smaller, but every later change of a writer would change items that are
already stored.

In the form, a text that begins with ``@`` is a reference to one of the texts of :func:`texts_of`:

=========  ==========================================================
``@3``     the text 3
``@3j``    the value of which the text 3 is the JSON
``@3+abc`` ``abc``, and the text 3 after it: the URL of a file
``@@abc``  the text ``@abc``
=========  ==========================================================
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any
from zlib import crc32

from reel.base.strict_json import Json, encode, encoder_with, parse
from reel.said.messages import LATE, SUPERSEDES

# The key in a message's metadata that has the form, or the index among the messages of an item.
ITEM = "item"
# The key in it of the seqs of records that hold copies of the message: they are redacted with it.
COPIES = "copies"
# The key in the data of a record that came later than messages whose content it has again: their seqs, in stretches.
COPIES_OF = "copies_of"
# The keys of a plain text, and those of the metadata that a daemon adds behind the conversion of an item.
_TEXT, _ADDED = {"type", "text"}, {ITEM, LATE, SUPERSEDES}
# For a shorter text a reference would not be shorter.
_SHORTEST = 8
# The shortest text that is recognized as the end of another one, and how many characters are compared first.
_LONG, _END = 64, 32
# Only the end of such a text, an encoded file, may be a reference: in prose, a redaction of the parts would miss text
# that spans both.
_DATA = "data:"
# The texts of a tool's arguments and of a provider's own blocks are JSON. An item has them near its top; searching all
# levels would take time proportional to the depth of the item.
_NEAR = 8
# Stands for a number that Python cannot represent, so that it does not equal any text.
_NUMERAL = os.urandom(8).hex()
_encode_sorted = encoder_with(lambda number: [_NUMERAL, str(number)], ascii_only=True, sorts=True, allows_nan=True)
_REFERENCE = re.compile(r"@(\d{1,6})(?:(j)|\+(.+))?", re.DOTALL)
# A reference to a text in the JSON of a form; the characters around it show that it is a value, and not inside a text.
_ENCODED = re.compile(r'(?<=[:,\[])"@(\d{1,6})"(?=[,\]}])')


def canonical(value: Any) -> str:
    """Return a canonical text of a JSON value: equal exactly for deeply equal values, where 1, 1.0 and true differ."""
    return _encode_sorted(value)


def texts_of(messages: Iterable[Json]) -> list[str]:
    """Return the texts of messages to which a form may refer, in an order that depends on the messages alone.

    Args:
        messages: the messages of one item, as they go over the wire.
    """
    found: list[str] = []
    for message in messages:
        content = message["content"]
        if len(content) == 1 and content[0].keys() == _TEXT and not message["provider_metadata"].keys() - _ADDED:
            if len(content[0]["text"]) >= _SHORTEST:
                found.append(content[0]["text"])
            continue
        _collect(content, found)
        _collect(_other_metadata(message), found)
    return found


def _collect(value: Any, found: list[str]) -> None:
    kind = type(value)
    if kind is str:
        if len(value) >= _SHORTEST:
            found.append(value)
    elif kind is list:
        for inside in value:
            _collect(inside, found)
    elif kind is dict:
        # Some clients do not preserve the order of keys.
        for key in sorted(value):
            _collect(value[key], found)


def _other_metadata(message: Json) -> Json:
    metadata: Json = message["provider_metadata"]
    return {key: value for key, value in metadata.items() if key not in _ADDED}


def check_of(messages: Sequence[Json], form: Any) -> str:
    """Return the checksum of messages and a form; it differs if one of them was changed since."""
    shown = [[message["role"], message["content"], _other_metadata(message)] for message in messages]
    return f"{crc32(canonical([shown, form]).encode()):08x}"


def _values_in(texts: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield the values of which a text is the JSON, in canonical form, and the numbers of the texts."""
    for number, text in enumerate(texts):
        if text[0] in "{[":
            with suppress(ValueError, RecursionError):
                yield canonical(parse(text)), number


class _Maker:
    """Replaces texts by references.

    Args:
        texts: the texts, as :func:`texts_of` returns them.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._numbers = {text: number for number, text in reversed([*enumerate(texts)])}
        self._ends = {text[-_END:]: number for number, text in enumerate(texts) if len(text) >= _LONG}
        self._values = dict(_values_in(texts))

    def made(self, value: Any, depth: int = 0) -> Any:
        kind = type(value)
        if kind is str:
            return self._text(value)
        if kind is not dict and kind is not list:
            return value
        if self._values and value and depth < _NEAR and (number := self._values.get(canonical(value))) is not None:
            return f"@{number}j"
        # No comprehensions: an item may be as deep as half the recursion limit.
        if kind is list:
            items: list[Any] = []
            for inside in value:
                items.append(self._text(inside) if type(inside) is str else self.made(inside, depth + 1))  # noqa: PERF401 - see above
            return items
        fields: Json = {}
        for key, inside in value.items():
            fields[key] = self._text(inside) if type(inside) is str else self.made(inside, depth + 1)
        return fields

    def _text(self, text: str) -> str:
        if len(text) >= _SHORTEST and (number := self._numbers.get(text)) is not None:
            return f"@{number}"
        if len(text) > _LONG and text.startswith(_DATA) and (number := self._ends.get(text[-_END:])) is not None:
            end = self._texts[number]
            if len(end) < len(text) and text.endswith(end):
                return f"@{number}+{text[: -len(end)]}"
        return f"@{text}" if text[:1] == "@" else text


def form_of(item: Any, texts: Sequence[str]) -> Any:
    """Return the form of an item.

    Args:
        item: the item, or a part of it.
        texts: the texts of its messages.
    """
    return _Maker(texts).made(item)


def item_from(form: Any, texts: Sequence[str]) -> Any:
    """Return the item that has a form.

    Args:
        form: the form, or a part of it.
        texts: the texts of the messages.

    Raises:
        ValueError: it refers to a text that does not exist, or is not JSON.
    """
    kind = type(form)
    if kind is str:
        return _referred(form, texts) if form[:1] == "@" else form
    if kind is list:
        items: list[Any] = []
        for inside in form:
            items.append(item_from(inside, texts))  # noqa: PERF401 - as above
        return items
    if kind is dict:
        fields: Json = {}
        for key, inside in form.items():
            fields[key] = item_from(inside, texts)
        return fields
    return form


def item_json_from(form: str, texts: Sequence[str], *, ascii_only: bool = False) -> str:
    """Return the JSON of the item that has a form, from the JSON of the form.

    Args:
        form: the JSON, compact.
        texts: the texts of the messages.
        ascii_only: escape what is not ASCII.

    Raises:
        ValueError: as above.
    """

    def referred(found: re.Match[str]) -> str:
        number = int(found[1])
        if number >= len(texts):
            raise ValueError(f"{found[0]} refers to no text")
        return encode(texts[number], ascii_only=ascii_only)

    made, count = _ENCODED.subn(referred, form)
    if count == form.count('"@'):
        return made
    return encode(item_from(parse(form), texts), ascii_only=ascii_only)  # it has other kinds of references


def _referred(form: str, texts: Sequence[str]) -> Any:
    if form[1:2] == "@":
        return form[1:]
    found = _REFERENCE.fullmatch(form)
    if found is None or int(found[1]) >= len(texts):
        raise ValueError(f"{form!r} refers to no text")
    text = texts[int(found[1])]
    return parse(text) if found[2] else (found[3] or "") + text
