"""Strict JSON (RFC 8259): without NaN and Infinity, which Python's own parser accepts, and numbers of any size.

Only an answer of a provider may have them: it is paid for, and some providers write them.
"""

import math
import os
import re
from collections.abc import Callable, Sequence
from json import JSONDecoder, JSONEncoder
from json.encoder import (  # type: ignore[attr-defined]  # the encoder in C is missing in the stubs
    c_make_encoder,
    encode_basestring,
    encode_basestring_ascii,
)
from typing import Any, TypeAlias

from reel.base.garbage import uncollected
from reel.base.values import Numeral

# A JSON object.
Json: TypeAlias = dict[str, Any]


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


def _integer(text: str) -> int | Numeral:
    return int(text) if len(text) <= _DIGITS else Numeral(text)


def _float(text: str) -> float | Numeral:
    value = float(text)
    return value if math.isfinite(value) else Numeral(text)


# The most digits of an integer that this Python reads and writes; 4,300 by default.
_DIGITS = 640
_DECODER = JSONDecoder(parse_constant=_refuse, parse_int=_integer, parse_float=_float)
# The parser is in C, and holds the GIL to the end: 8 MB block all other threads for 80 ms. With a hook that is called
# for each object, other threads can run in between. Texts of this length and more are parsed that way.
_YIELDING = JSONDecoder(parse_constant=_refuse, parse_int=_integer, parse_float=_float, object_hook=lambda value: value)
_ANSWERS = JSONDecoder(parse_constant=str, parse_int=_integer, parse_float=_float, object_hook=lambda value: value)
_LONG = 1 << 16
_WHITE_SPACE = " \t\n\r"


class _NumeralFound(Exception):
    """A value to encode contains a numeral."""


def _stop(value: Any) -> Any:
    if type(value) is Numeral:
        raise _NumeralFound
    raise TypeError(f"a {type(value).__name__} is not a value of JSON")


# The encoder has no hook for raw text. So a numeral is encoded as a string that begins with an unguessable mark; then
# the mark and the quotes are removed.
_MARK = os.urandom(16).hex()
_MARKED = re.compile(f'"{_MARK}([^"]*)"')


def _mark(value: Any) -> Any:
    return f"{_MARK}{value}" if type(value) is Numeral else _stop(value)


def encoder_with(
    default: Callable[[Any], Any], *, ascii_only: bool, sorts: bool = False, allows_nan: bool = False
) -> Callable[[Any], str]:
    """Return a function that makes compact JSON of values that do not contain themselves.

    Args:
        default: returns a replacement for a value that JSON cannot represent.
        ascii_only: escape what is not ASCII.
        sorts: put keys in order.
        allows_nan: write NaN and Infinity instead of raising an error.
    """
    # Values come from JSON or MessagePack and cannot contain themselves: checking for cycles is wasted time.
    encoder = JSONEncoder(
        ensure_ascii=ascii_only,
        allow_nan=allows_nan,
        check_circular=False,
        separators=(",", ":"),
        default=default,
        sort_keys=sorts,
    )
    if c_make_encoder is None:
        return encoder.encode
    # `encode` makes this for every value, which takes a third of its time.
    escape = encode_basestring_ascii if ascii_only else encode_basestring
    chunks = c_make_encoder(None, default, escape, None, ":", ",", sorts, False, allows_nan)
    return lambda value: "".join(chunks(value, 0))


# For each form, an encoder that stops at a numeral, which is fast, and one that marks numerals.
_ENCODERS = [(encoder_with(_stop, ascii_only=form), encoder_with(_mark, ascii_only=form)) for form in (False, True)]


# Returns a text as JSON, as `encode` does, in half the time.
encode_text: Callable[[str], str] = encode_basestring


# The depth limit for a provider's JSON. It is encoded again later from a deeper stack, so this is far below the
# recursion limit.
DEPTH = 500
_STEP = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|([\[{])|[\]}]', re.DOTALL)


def parse_bounded(text: str, depth: int = DEPTH) -> Any:
    """Parse a JSON text that is at most ``depth`` levels deep, so that it can be encoded again later.

    The depth is measured in the text, before anything is built: a value that is already too deep cannot even be walked.

    Raises:
        ValueError: the text is not JSON.
        RecursionError: it is deeper.
    """
    _require_bounded(text, depth)
    return parse(text)


def parse_answer(text: str) -> Any:
    """Parse JSON that a provider wrote, as :func:`parse_bounded` does; NaN and Infinity become texts of these names.

    Raises:
        ValueError: the text is not JSON, apart from them.
        RecursionError: it is deeper than ``DEPTH`` levels.
    """
    _require_bounded(text)
    try:
        return parse(text)
    except ValueError:
        if "NaN" not in text and "Infinity" not in text:
            raise
    return _ANSWERS.decode(text)


def _require_bounded(text: str, depth: int = DEPTH) -> None:
    if text.count("[") + text.count("{") > depth and _depth(text) > depth:
        raise RecursionError(f"nested deeper than {depth} levels")


def _depth(text: str) -> int:
    depth = deepest = 0
    for step in _STEP.finditer(text):
        if step[1]:
            depth += 1
            deepest = max(deepest, depth)
        elif step[0] in ("]", "}"):
            depth -= 1
    return deepest


def parse(text: str) -> Any:
    """Parse a JSON text. A number that is not finite as a float, or of very many digits, is a :class:`Numeral`.

    Raises:
        ValueError: the text is not JSON.
        RecursionError: it is nested deeper than the parser can follow, some thousand levels.
    """
    if len(text) < _LONG:
        return _decoded(_DECODER, text)
    with uncollected():
        return _decoded(_YIELDING, text)


def _decoded(decoder: JSONDecoder, text: str) -> Any:
    # `decode` matches white space with two regular expressions, which takes longer than parsing most arguments of
    # calls.
    try:
        value, end = decoder.scan_once(text, 0)  # type: ignore[attr-defined]  # missing in the stubs
    except StopIteration:
        return decoder.decode(text)
    return decoder.decode(text) if end < len(text) and text[end:].strip(_WHITE_SPACE) else value


def encode(value: Any, *, ascii_only: bool = False) -> str:
    """Return a value as compact JSON text: the same value always gives the same text.

    Args:
        value: what :func:`parse` returns, or could return.
        ascii_only: escape what is not ASCII, lone surrogates included.

    Raises:
        ValueError: a number in it is not finite.
        RecursionError: it is nested too deep.
    """
    quick, marking = _ENCODERS[ascii_only]
    try:
        return quick(value)
    except _NumeralFound:
        return _MARKED.sub(r"\1", marking(value))


def encode_each(values: Sequence[Any]) -> list[bytes]:
    """Return each of some values as :func:`encode` does, in UTF-8 and with a comma after it."""
    quick, _ = _ENCODERS[False]
    try:
        return [f"{quick(value)},".encode() for value in values]
    except _NumeralFound:
        return [f"{encode(value)},".encode() for value in values]
