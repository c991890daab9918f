"""Examples of the types of the vendors' SDKs: JSON values that have every key, or only the required ones."""

import datetime as dt
import enum
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

Json = dict[str, Any]
# Types that contain themselves are left empty at this depth.
_DEPTH = 6
# Texts that are read: JSON, and data URLs.
_TEXTS = {
    "call_id": "call_x",
    "arguments": '{"a": "b"}',
    "image_url": "data:image/png;base64,QUJD",
    "file_data": "data:application/pdf;base64,QUJD",
    "mimeType": "image/png",
    "media_type": "image/png",
}
# More faults than a value has keys.
_OUTWEIGHS = 100
_LISTS = (list, Iterable, Sequence)
_SCALARS: tuple[tuple[type, Any], ...] = (
    (bool, True),
    (str, "x"),
    (int, 1),
    (float, 0.5),
    (bytes, "QUJD"),
    (dt.datetime, "2999-01-01T00:00:00Z"),
    (dt.date, "2999-01-01"),
)


class Key(NamedTuple):
    """A key of an SDK's type: its name in JSON, its type, and whether it is required."""

    name: str
    of: Any
    required: bool


def keys(kind: Any) -> list[Key]:
    """Return the keys of a map type: a model of pydantic's or a TypedDict."""
    kind = bare(kind)
    if hasattr(kind, "model_fields"):
        return [
            Key(field.serialization_alias or field.alias or name, field.annotation, field.is_required())
            for name, field in kind.model_fields.items()
        ]
    # The annotations are texts, so that the type itself does not know which keys are required.
    hints = get_type_hints(kind, include_extras=True)
    return [Key(name, of, get_origin(of) is Required) for name, of in hints.items()]


def is_map(kind: Any) -> bool:
    """Whether a type has keys of its own."""
    return any(hasattr(bare(kind), mark) for mark in ("model_fields", "__required_keys__"))


def bare(kind: Any) -> Any:
    """Return a type without what is written around it, and without its alias."""
    while get_origin(kind) in (Annotated, Required, NotRequired) or hasattr(kind, "__value__"):
        kind = kind.__value__ if hasattr(kind, "__value__") else get_args(kind)[0]
    return kind


def members(kind: Any) -> Iterator[Any]:
    """Return the members of a union, those of inner unions too; any other type is its own only member."""
    kind = bare(kind)
    if get_origin(kind) in (Union, types.UnionType):
        for member in get_args(kind):
            yield from members(member)
    elif kind is not type(None):
        yield kind


def example(kind: Any, *, full: bool, depth: int = 0) -> Any:
    """Return a value of a type, the first member of a union.

    Args:
        kind: the type.
        full: whether maps have their optional keys.
        depth: how many maps it is inside.
    """
    kind = next(members(kind), None)
    if is_map(kind):
        wanted = [key for key in keys(kind) if key.required or (full and depth < _DEPTH)]
        found = {key.name: _known(key) or example(key.of, full=full, depth=depth + 1) for key in wanted}
        return {name: value for name, value in found.items() if value is not None}
    origin = get_origin(kind)
    if origin is Literal:
        return get_args(kind)[0]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"a": "b"}
    if isinstance(origin, type) and origin is not type:
        return [example(get_args(kind)[0], full=full, depth=depth + 1)]
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return next(iter(kind)).value
    return next((value for of, value in _SCALARS if isinstance(kind, type) and issubclass(kind, of)), {"a": "b"})


def _known(key: Key) -> str | None:
    """Return the text of a key that cannot have any text; ``None`` for another key."""
    return _TEXTS.get(key.name) if next(members(key.of), None) is str else None


def with_nulls(kind: Any, value: Json) -> Json:
    """Return a value as the model of its type dumps it: keys that it lacks are null."""
    return {**{key.name: None for key in keys(kind)}, **value}


def faults(kind: Any, value: Any, where: str = "", optional: frozenset[str] = frozenset()) -> list[str]:
    """Return the places where a value is not of a type: keys that it may not have, or that it lacks.

    Args:
        kind: the type. Of a union the member counts of which the value has the fewest faults.
        value: the value. Null counts as missing; values that are not maps or lists are not looked at.
        where: its place.
        optional: keys that need not be there although the SDK requires them.
    """
    kind = bare(kind)
    found = list(members(kind))
    if value is None:
        return []
    if found != [kind]:
        maps = [member for member in found if is_map(member) or get_origin(member)]
        fitting = [member for member in maps if isinstance(value, dict) == is_map(member)]
        return min((faults(member, value, where, optional) for member in fitting), key=len, default=[])
    if is_map(kind) and isinstance(value, dict):
        return _faults_of_map(kind, value, where, optional)
    if get_origin(kind) in _LISTS and isinstance(value, list):
        of = get_args(kind)[0]
        return [fault for index, item in enumerate(value) for fault in faults(of, item, f"{where}[{index}]", optional)]
    return []


def _faults_of_map(kind: Any, value: Json, where: str, optional: frozenset[str]) -> list[str]:
    known = {key.name: key for key in keys(kind)}
    required = {name for name, key in known.items() if key.required} - optional
    return [
        *_wrong_type(kind, value, where),
        *(f"{where}.{name}: missing" for name in sorted(required - value.keys())),
        *(f"{where}.{name}: unknown" for name in sorted(value.keys() - known.keys())),
        *(
            fault
            for name in value.keys() & known.keys()
            for fault in faults(known[name].of, value[name], f"{where}.{name}", optional)
        ),
    ]


def _wrong_type(kind: Any, value: Json, where: str) -> list[str]:
    """Return whether a value has the ``type`` of another type; that outweighs all keys."""
    for key in keys(kind):
        of = next(members(key.of), None)
        if key.name == "type" and get_origin(of) is Literal and value.get("type", get_args(of)[0]) not in get_args(of):
            return [f"{where}.type: {value['type']!r}"] * _OUTWEIGHS
    return []


def variants(kind: Any) -> list[Json]:
    """Return a value of a type with every key, one with the required ones, and one with nulls for the others."""
    least = example(kind, full=False)
    return [example(kind, full=True), least, with_nulls(kind, least)]


def one_by_one(kind: Any) -> list[Json]:
    """Return values of a type each of which has one key."""
    return [{key.name: example(key.of, full=True)} for key in keys(kind)]
