"""Reads a record that is too long for a message: without its largest media, and with texts that are cut if need be.

A screenshot or a video makes a record long. Its words are what the conversation needs: without them, a call has no
result, and the model is told that it was interrupted. So a text takes the place of what is left out.
"""

import re
from collections.abc import Iterator
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.importing.values import parse_record, text_in

# The strings that are looked at, in bytes; what is shorter stays. The quantifiers are possessive: no backtracking.
_LONG = 1 << 16
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
# How base64, or an address with it, begins: no text has so many characters without a space.
_MEDIA = re.compile(rb'"(?:data:[^,"]{1,256},|[A-Za-z0-9+/_=-]{256})')
# How much of a text that is cut stays, and what of that is whole: not half an escape.
_KEPT = 1 << 20
# The last branch never matches: up to Python 3.11.4, what the last branch had matched when it failed counts as matched.
_WHOLE = re.compile(rb'"(?:[^"\\]|\\(?:u[0-9A-Fa-f]{4}|[^u])|(?!))*+')
# What takes the place of a string has fewer bytes.
_MARKED = 100
# The keys that lead from a block to its data, and what stands for data that was left out until it was parsed.
_CARRIERS = frozenset(
    {
        *("source", "data", "image_url", "url", "inlineData", "inline_data", "image", "file", "file_data", "file_url"),
        *("input_audio", "audio", "video", "base64", "bytes", "blob", "resource"),
    }
)
_MARK = re.compile(r"\ue000left out (\d+)\ue000")
# The types of blocks whose text has a type of its own.
_INPUT = "input_"


class _String(NamedTuple):
    """A long string of a record, with its quotes. They are left out in reverse order: of equal ones the last first."""

    is_media: bool
    length: int
    start: int


def parse_shortened(data: bytes, limit: int) -> tuple[Json, str] | None:
    """Return a record that has at most so many bytes, and what was left out of it; ``None`` if that cannot be.

    Args:
        data: the record, which is longer.
        limit: the number of bytes.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deep.
    """
    left_out, length = list[_String](), len(data)
    for string in sorted(_long_strings(data), reverse=True):
        if length <= limit:
            break
        left_out.append(string)
        length -= string.length - (_MARKED if string.is_media else _KEPT + _MARKED)
    if length > limit:
        return None
    record = parse_record(b"".join(_pieces(data, sorted(left_out, key=lambda string: string.start))))
    if record is None:
        return None
    media = sum(string.is_media for string in left_out)
    cut = len(left_out) - media
    said = [f"without {media} image{'s' * (media > 1)} or file{'s' * (media > 1)}"] if media else []
    said += [f"{cut} text{'s' * (cut > 1)} cut"] if cut else []
    return _without_marks(record), ", ".join(said)


def _long_strings(data: bytes) -> Iterator[_String]:
    for match in _STRING.finditer(data):
        length = match.end() - match.start()
        is_media = length > _LONG and _MEDIA.match(data, match.start()) is not None
        if is_media or length > 2 * _KEPT:
            yield _String(is_media, length, match.start())


def _pieces(data: bytes, left_out: list[_String]) -> Iterator[bytes]:
    end = 0
    for string in left_out:
        yield data[end : string.start]
        end = string.start + string.length
        if string.is_media:
            yield f'"\ue000left out {string.length - 2}\ue000"'.encode()
        else:
            kept = _WHOLE.match(data, string.start, string.start + _KEPT)
            yield kept[0].decode("utf-8", "ignore").encode() if kept else b'"'
            yield f' [… {string.length - _KEPT:,} bytes more were left out]"'.encode()
    yield data[end:]


def _without_marks(value: Any) -> Any:
    """Return a value in which words take the place of what was left out: of a block, if it is one's data."""
    if type(value) is dict:
        return {key: _without_marks(one) for key, one in value.items()}
    if type(value) is list:
        return [_without_marks(one) if (size := _size_in(one)) is None else _words_for(one, size) for one in value]
    if type(value) is str and (mark := _MARK.fullmatch(value)):
        return _words("data", mark[1])
    return value


def _size_in(block: Any) -> str | None:
    """Return how many bytes of the data of a block were left out; ``None`` if none were."""
    if type(block) is str:
        mark = _MARK.fullmatch(block)
        return mark[1] if mark else None
    if type(block) is not dict:
        return None
    return next((size for key in block.keys() & _CARRIERS if (size := _size_in(block[key])) is not None), None)


def _words_for(block: Any, size: str) -> Any:
    if type(block) is str:
        return _words("data", size)
    kind = text_in(block, "type")
    text = _words(kind.removeprefix(_INPUT).removesuffix("_url") or "file", size)
    if not kind:  # as in Gemini's API
        return {"text": text}
    return {"type": "input_text" if kind.startswith(_INPUT) else "text", "text": text}


def _words(kind: str, size: str) -> str:
    return f"[{kind}: left out of the import, because its record is too long; {int(size):,} bytes]"
