"""Signatures: the parameters of a method in order, given by position or by name.

They are made from the classes of :mod:`reeld.protocol.params`, which declare the parameters of each method.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, TypeVar, get_args

from reel.base.errors import InvalidParams
from reel.base.light_typing import NamedTuple
from reel.base.values import new_tuple
from reel.said.blocks import kind_of
from reeld.protocol.converters import (
    Convert,
    Free,
    absolute_paths,
    addresses,
    anything,
    events,
    integer,
    kinds,
    label,
    messages,
    parts,
    roles,
    seqs,
    shallow,
    string,
    strings,
    target,
    texts,
)

P = TypeVar("P", bound=tuple[Any, ...])


class Param(NamedTuple):
    """A parameter: its name, its converter, and whether it may be left out."""

    name: str
    convert: Convert
    optional: bool = True


# What stands before a method's own parameters if it is about an agent, and after those of a command.
AGENT = Param("agent", string, optional=False)
KEY = Param("key", label)
OPTIONS = (Param("if_seq", integer()), KEY)


def declared(params: type[tuple[Any, ...]]) -> tuple[Param, ...]:
    """Return the parameters that a named tuple declares: one with a default may be left out.

    Args:
        params: a class whose fields are annotated with converters. A trailing underscore, for a keyword of Python's, is
            not part of the parameter's name.
    """
    optional = getattr(params, "_field_defaults", {})
    # They are types, not texts, so nothing has to be evaluated.
    hints = params.__annotations__.items()
    return tuple(Param(name.rstrip("_"), _converter(hint), name in optional) for name, hint in hints)


def given(params: type[P], values: Sequence[Any]) -> P:
    """Return a method's own parameters; what was left out has its default.

    Args:
        params: the named tuple that declares them.
        values: the converted values in order, ``None`` for what was left out.
    """
    if not values:  # half of all methods have none
        return new_tuple(params, ())
    defaults = _defaults(params)
    return new_tuple(
        params, [default if value is None else value for value, default in zip(values, defaults, strict=True)]
    )


@cache
def _defaults(params: type[tuple[Any, ...]]) -> list[Any]:
    """Return the default of each field of a named tuple; ``None`` for one without."""
    known = getattr(params, "_field_defaults", {})
    return [known.get(field) for field in getattr(params, "_fields", ())]


def _converter(hint: Any) -> Convert:
    """Return the converter of a field's type, which may be a union with ``None``."""
    for each in (hint, *get_args(hint)):
        for noted in getattr(each, "__metadata__", ()):
            convert: Convert = noted
            return convert
    raise TypeError(f"{hint} has no converter")


_LISTS = frozenset(
    {addresses, anything, messages, strings, target, kinds, roles, texts, seqs, absolute_paths, parts, events}
)

# What cannot be nested.
_FLAT = frozenset({str, int, bool})
# A map with one of these at the end of the parameters is a message or a record, if its place is that of messages:
# no parameter of a method that takes messages is called so.
_OF_MESSAGES = frozenset({"role", "kind"})


class Signature:
    """The parameters of a method, in order."""

    def __init__(self, params: tuple[Param, ...]) -> None:
        self.params = params
        self._converters = [param.convert for param in params]
        self._index = {param.name: number for number, param in enumerate(params)}
        self._required = sum(not param.optional for param in params)
        self._accepted = f"accepted: {', '.join(self.shown())}" if params else "it takes none"

    def shown(self) -> list[str]:
        """Return the names; optional ones end in a question mark."""
        return [f"{param.name}?" if param.optional else param.name for param in self.params]

    def bind(self, params: Any) -> tuple[list[Any], int]:
        """Return the value of each parameter, ``None`` if it was left out, and the number of replaced characters.

        Raises:
            InvalidParams: one is missing, unknown, doubled or wrong; ``data`` has its name as ``field``.
        """
        positional, named = self._split(params)
        if len(positional) > len(self.params):
            raise InvalidParams(f"{len(positional)} parameters are too many; {self._accepted}")
        values: list[Any] = [None] * len(self.params)
        replaced = self._convert(values, enumerate(positional))
        if named:
            replaced += self._convert(values, self._numbered(named, values))
        for number in range(self._required):
            if values[number] is None:
                missing = self.params[number].name
                raise InvalidParams(f"{missing} is missing; {self._accepted}", field=missing)
        return values, replaced

    def _numbered(self, named: dict[Any, Any], values: list[Any]) -> Iterator[tuple[int, Any]]:
        """Yield the number of each named parameter, and its value."""
        for key, value in named.items():
            found = self._index.get(key)
            if found is None:
                raise InvalidParams(f"unknown parameter {key!r}; {self._accepted}", field=str(key))
            if values[found] is not None:
                raise InvalidParams(f"{key} is given twice; {self._accepted}", field=key)
            yield found, value

    def _split(self, params: Any) -> tuple[list[Any], dict[Any, Any]]:
        if type(params) is list and params and type(params[-1]) is str:
            return params, {}
        if type(params) is dict:
            return [], params
        if params is None:
            return [], {}
        if type(params) is not list:
            raise InvalidParams(f"params: expected a list or a map, got {kind_of(params)}")
        if not params or params in ([None], [[]]):
            return [], {}
        last = params[-1]
        if type(last) is not dict and type(last) is not list:
            return params, {}
        convert = self._convert_at(len(params) - 1)
        if type(last) is dict:
            if convert is messages and not _OF_MESSAGES.isdisjoint(last):
                return params, {}
            return params[:-1], last
        if not last and convert not in _LISTS:
            return params[:-1], {}  # an empty table of Lua's, which may be a list or a map
        return params, {}

    def _convert_at(self, number: int) -> Convert | None:
        return self.params[number].convert if number < len(self.params) else None

    def _convert(self, values: list[Any], given: Iterable[tuple[int, Any]]) -> int:
        """Put converted values at their numbers; return how many characters were replaced."""
        replaced = 0
        for number, value in given:
            if value is None:
                continue
            try:
                if type(value) not in _FLAT:  # first: a converter may show the value, and must not recurse too deep
                    shallow(value)
                converted = self._converters[number](value)
            except InvalidParams as error:
                name = self.params[number].name
                raise InvalidParams(f"{name}: {error.message}", field=name) from None
            if type(converted) is Free:
                replaced += converted.replaced
                converted = converted.text
            values[number] = converted
        return replaced
