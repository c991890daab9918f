"""Examples of the types of the vendors' SDKs: JSON values that have every key, or only the required ones."""

import datetime as dt
import enum
import types
from collections.abc import Iterator, Mapping
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
    is_typeddict,
)

Json = dict[str, Any]
# Types that contain themselves are left empty at this depth.
_DEPTH = 6
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
    return hasattr(bare(kind), "model_fields") or is_typeddict(bare(kind))


def bare(kind: Any) -> Any:
    """Return a type without what is written around it."""
    while get_origin(kind) in (Annotated, Required, NotRequired):
        kind = get_args(kind)[0]
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
        found = {key.name: example(key.of, full=full, depth=depth + 1) for key in wanted}
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


def with_nulls(kind: Any, value: Json) -> Json:
    """Return a value as the model of its type dumps it: keys that it lacks are null."""
    return {**{key.name: None for key in keys(kind)}, **value}
