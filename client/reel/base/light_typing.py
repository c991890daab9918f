"""What takes too long at each start of a command or of the daemon if ``typing`` does it; checkers see the originals.

Importing ``typing`` takes as long as starting Python. A module of the client that uses these instead begins with ``from
__future__ import annotations``, so that its annotations are not evaluated, and imports names for annotations only ``if
TYPE_CHECKING``. A named tuple takes 10 us to make here and 109 there, and the daemon has 270 of them.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Generic, NamedTuple
else:
    _function = type(lambda: None)

    try:
        from _collections import _tuplegetter as field_at
    except ImportError:  # a Python without it; collections.namedtuple has the same fallback
        from operator import itemgetter

        def field_at(place: int, told: str) -> property:
            """Return what reads a field."""
            return property(itemgetter(place), doc=told)

    # What makes an instance of so many values. The parameters get the names of the fields: to compile a function with
    # those names takes forty times as long, and is not needed, because its code does not depend on them.
    _new = tuple.__new__
    _MAKERS = (
        lambda _cls: _new(_cls, ()),
        lambda _cls, a: _new(_cls, (a,)),
        lambda _cls, a, b: _new(_cls, (a, b)),
        lambda _cls, a, b, c: _new(_cls, (a, b, c)),
        lambda _cls, a, b, c, d: _new(_cls, (a, b, c, d)),
        lambda _cls, a, b, c, d, e: _new(_cls, (a, b, c, d, e)),
        lambda _cls, a, b, c, d, e, f: _new(_cls, (a, b, c, d, e, f)),
        lambda _cls, a, b, c, d, e, f, g: _new(_cls, (a, b, c, d, e, f, g)),
        lambda _cls, a, b, c, d, e, f, g, h: _new(_cls, (a, b, c, d, e, f, g, h)),
    )
    _CODES = {size: made.__code__ for size, made in enumerate(_MAKERS)}

    def _code(size: int) -> "Any":
        """Return the code that makes an instance of so many values."""
        if size not in _CODES:
            listed = "".join(f"field_{place}, " for place in range(size))
            _CODES[size] = eval(f"lambda _cls, {listed}: _new(_cls, ({listed}))").__code__  # noqa: S307 - numbers
        return _CODES[size]

    def _maker(name: str, fields: "tuple[str, ...]", defaults: "tuple[Any, ...]") -> "Callable[..., Any]":
        """Return ``__new__`` of a class with this name."""
        code = _code(len(fields)).replace(co_name="__new__", co_varnames=("_cls", *fields))
        new = _function(code, globals(), "__new__", defaults)
        new.__qualname__ = f"{name}.__new__"
        return new

    def _make(cls: type, values: "Iterable[Any]") -> tuple:
        """Make an instance of a sequence or an iterable of all values."""
        made = tuple.__new__(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"{cls.__name__} takes {len(cls._fields)} values, not {len(made)}")
        return made

    def _replace(self: tuple, /, **values: "Any") -> tuple:
        """Return a copy with other values in the named fields."""
        made = tuple.__new__(type(self), map(values.pop, self._fields, self))
        if values:
            raise ValueError(f"{type(self).__name__} has no fields {list(values)!r}")
        return made

    def _asdict(self: tuple) -> "dict[str, Any]":
        """Return the values by the names of their fields."""
        return dict(zip(self._fields, self, strict=True))

    def _values(self: tuple) -> tuple:
        return tuple(self)

    def _shown(self: tuple) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({values})"

    _METHODS = {
        "_make": classmethod(_make),
        "_replace": _replace,
        "__replace__": _replace,
        "_asdict": _asdict,
        "__repr__": _shown,
        "__getnewargs__": _values,
        "__slots__": (),
    }

    def _annotations(body: "dict[str, Any]") -> "dict[str, Any]":
        """Return the annotations of a class of a module whose annotations are evaluated: Python 3.14 has a function."""
        evaluate = body.get("__annotate__") or body.get("__annotate_func__")
        return {} if evaluate is None else evaluate(1)  # their values, not their texts

    class _FromAnnotations(type):
        """Make a named tuple of the annotations in the body of a class, as ``typing`` does."""

        def __new__(cls, name: str, bases: "tuple[type, ...]", body: "dict[str, Any]") -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            if "__annotations__" not in body:
                body["__annotations__"] = _annotations(body)
            fields = tuple(body["__annotations__"])
            defaults = {field: body.pop(field) for field in fields if field in body}
            given = {"_fields": fields, "_field_defaults": defaults, "__match_args__": fields}
            getters = {field: field_at(place, f"Field number {place}.") for place, field in enumerate(fields)}
            made = type(name, (tuple,), {**_METHODS, **getters, **given, **body})
            made.__new__ = _maker(made.__qualname__, fields, tuple(defaults.values()))
            made.__new__.__annotations__ = made.__annotations__
            return made

    class NamedTuple(metaclass=_FromAnnotations):
        """The base of a named tuple, which is then a subclass of ``tuple`` alone."""

    class Generic:
        """The base of a class with type parameters, which only checkers see."""

        def __class_getitem__(cls, _parameters: object) -> type:
            return cls


__all__ = ["TYPE_CHECKING", "Generic", "NamedTuple"]
