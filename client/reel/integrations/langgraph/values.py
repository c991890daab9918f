"""Serialized values as JSON, so that their content can be read, searched and redacted.

The framework's serializer converts a value to bytes, and a word that names the encoding. Its MessagePack is written as
JSON. Objects with a single key represent values that JSON lacks:

====================  ==================================================
``{"$bytes": …}``     bytes, in base64
``{"$ext": [7, …]}``  an extension: its code, and its value
``{"$map": [[…]]}``   a map with keys other than strings
``{"$float": "nan"}`` a number that JSON lacks
====================  ==================================================

All other bytes, such as encrypted ones, and those that would not be restored exactly, are written in base64.
"""

import json
import math
from base64 import b64decode, b64encode
from typing import Any

import ormsgpack
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from reel.base.light_typing import NamedTuple

_MSGPACK = "msgpack"
_ANY_KEY = ormsgpack.OPT_NON_STR_KEYS
# The prefix of the keys of these objects.
_MARK = "$"
_PLAIN = frozenset({str, int, bool, type(None)})


class NotAValue(ValueError):
    """Raised when stored text is not a serialized value: it was redacted, or another client wrote it."""


class _Extension(NamedTuple):
    code: int
    data: bytes


def to_json(value: Any) -> str:
    """Return compact JSON, in UTF-8 if possible."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if text.isascii() or _has_utf8(text) else json.dumps(value, separators=(",", ":"))


def _has_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def dump(serde: SerializerProtocol, value: Any) -> str:
    """Return the JSON of a value, using the serializer."""
    return to_json(written(serde.dumps_typed(value)))


def load(serde: SerializerProtocol, text: str) -> Any:
    """Return the value that :func:`dump` wrote.

    Raises:
        NotAValue: the text is something else. Serializers other than the framework's raise their own errors.
    """
    try:
        parsed = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise NotAValue(f"no JSON: {str(text)[:100]}") from None
    return loaded(serde, parsed)


def loaded(serde: SerializerProtocol, value: Any) -> Any:
    """Return the value that :func:`written` converted to plain JSON.

    Raises:
        NotAValue: as :func:`load`.
    """
    typed = read(value)
    try:
        return serde.loads_typed(typed)
    except Exception as error:
        # Any other one may lack a key, for instance. Continuing would lose stored data.
        if isinstance(serde, JsonPlusSerializer):
            raise NotAValue(f"it cannot be read: {error!r}") from error
        raise


def written(typed: tuple[str, bytes]) -> list[Any]:
    """Return serialized bytes as plain JSON: a list of the encoding and the content.

    Args:
        typed: what ``dumps_typed`` returned.
    """
    how, data = typed
    if how == _MSGPACK:
        try:
            tree = _tree(_unpacked(data))
            if _packed(tree) == data:
                return [how, tree]
        except (ValueError, TypeError, RecursionError):
            pass  # fall back to bytes
    return [how, {"$bytes": b64encode(data).decode()}] if data else [how]


def read(value: Any) -> tuple[str, bytes]:
    """Return the bytes that :func:`written` received.

    Raises:
        NotAValue: the value is something else.
    """
    try:
        match value:
            case [str(how)]:
                return how, b""
            case [str(how), {"$bytes": str(data)}]:
                return how, b64decode(data, validate=True)
            case [str(how), tree]:
                return how, _packed(tree)
    except (ValueError, TypeError, OverflowError, RecursionError):
        pass  # MessagePack cannot represent it
    raise NotAValue(f"not a serialized value: {str(value)[:100]}")


def _unpacked(data: bytes) -> Any:
    return ormsgpack.unpackb(data, ext_hook=_Extension, option=_ANY_KEY)


def _packed(tree: Any) -> bytes:
    return ormsgpack.packb(_value(tree), option=_ANY_KEY)


def _tree(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return [_tree(inside) for inside in value]
    if kind is dict:
        if all(type(key) is str and not key.startswith(_MARK) for key in value):
            return {key: _tree(inside) for key, inside in value.items()}
        return {"$map": [[_tree(key), _tree(inside)] for key, inside in value.items()]}
    if kind is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if kind is bytes:
        return {"$bytes": b64encode(value).decode()}
    if kind is _Extension:
        return {"$ext": [value.code, _tree(_unpacked(value.data))]}
    raise TypeError(f"a {kind.__name__} is not plain")  # for example, a tuple as a key


def _value(tree: Any) -> Any:
    kind = type(tree)
    if kind is list:
        return [_value(inside) for inside in tree]
    if kind is not dict:
        return tree
    if len(tree) == 1:
        match tree:
            case {"$bytes": str(data)}:
                return b64decode(data, validate=True)
            case {"$ext": [int(code), inside]}:
                return ormsgpack.Ext(code, _packed(inside))
            case {"$map": list(pairs)}:
                return {_value(key): _value(inside) for key, inside in pairs}
            case {"$float": str(number)}:
                return float(number)
    return {key: _value(inside) for key, inside in tree.items()}
