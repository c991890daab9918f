"""The parts of ``typing`` that the client needs at run time; importing that module takes as long as starting Python.

Checkers see the originals. A module that uses these begins with ``from __future__ import annotations``, so that its
annotations are not evaluated, and imports names for annotations only ``if TYPE_CHECKING``.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Generic, NamedTuple
else:
    from collections import namedtuple

    class _FromAnnotations(type):
        """Make a named tuple of the annotations in the body of a class, as ``typing`` does."""

        def __new__(cls, name: str, bases: "tuple[type, ...]", body: "dict[str, Any]") -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body["__annotations__"]
            defaults = [body.pop(field) for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults)  # noqa: PYI024 - this is what it is made from
            for attribute, value in body.items():
                setattr(made, attribute, value)
            made.__new__.__annotations__ = fields
            return made

    class NamedTuple(metaclass=_FromAnnotations):
        """The base of a named tuple, which is then a subclass of ``tuple`` alone."""

    class Generic:
        """The base of a class with type parameters, which only checkers see."""

        def __class_getitem__(cls, _parameters: object) -> type:
            return cls


__all__ = ["TYPE_CHECKING", "Generic", "NamedTuple"]
