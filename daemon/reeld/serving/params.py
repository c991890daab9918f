"""Parameters: one ordered list a method, given by position or by name, each checked by a converter."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from reel.blocks import check_name, kind_of
from reel.errors import InvalidParams
from reel.kinds import KNOWN
from reel.values import MAX_INTEGER, clean, is_clean, is_deeper, why_not_plain
from reeld.core.names import flaw_of_name

# Lists and maps inside one another in a message, the params (or the result) being the first.
MAX_DEPTH = 16
_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
MAX_LABEL = 256
MAX_TITLE = 1024
MAX_TARGET = 4096
MAX_ITEMS = 10_000

# Takes what came over the wire and gives what the handler gets; what it raises says why not.
Convert: TypeAlias = Callable[[Any], Any]


class Param(NamedTuple):
    """A parameter: its name, its converter, and whether it may be left out."""

    name: str
    convert: Convert
    optional: bool = True


class Free(NamedTuple):
    """A text in which characters were replaced, and how many."""

    text: str
    replaced: int


def _fail(reason: str) -> InvalidParams:
    return InvalidParams(reason)


def string(value: Any) -> str:
    """Take a string that means something to a program."""
    if type(value) is not str:
        raise _fail(f"expected a string, got {kind_of(value)}")
    if not is_clean(value):
        raise _fail("NUL, lone surrogates and invalid UTF-8 cannot stand here")
    return value


def free_text(value: Any) -> str | Free:
    """Take a text for people; what cannot stand in it is replaced, and counted."""
    if type(value) is not str:
        raise _fail(f"expected a string, got {kind_of(value)}")
    text, replaced = clean(value)
    return Free(text, replaced) if replaced else text


def title(value: Any) -> str | Free:
    """Take a title; an empty one removes it."""
    if type(value) is str and len(value) > MAX_TITLE:
        raise _fail(f"may have {MAX_TITLE} characters, has {len(value)}")
    return free_text(value)


def name(value: Any) -> str:
    """Take the name of an agent."""
    text = string(value)
    if (problem := flaw_of_name(text)) is not None:
        raise _fail(problem)
    return text


def label(value: Any) -> str:
    """Take a mark's label or a key."""
    text = string(value)
    if not 1 <= len(text) <= MAX_LABEL:
        raise _fail(f"must have 1 to {MAX_LABEL} characters, has {len(text)}")
    return text


def absolute_path(value: Any) -> str:
    """Take the path of a file; a relative one would be one of the daemon's directory, not of the caller's."""
    text = string(value)
    if not text.startswith("/") or text.endswith("/"):
        raise _fail(f"expected the absolute path of a file, got {text[:MAX_LABEL]!r}")
    return text


def boolean(value: Any) -> bool:
    """Take true or false."""
    if type(value) is not bool:
        raise _fail(f"expected true or false, got {kind_of(value)}")
    return value


def integer(lowest: int = 0, highest: int = MAX_INTEGER) -> Convert:
    """Make a converter that takes an integer within bounds, both included."""

    def convert(value: Any) -> int:
        if type(value) is not int:
            raise _fail(f"expected an integer, got {kind_of(value)}")
        if not lowest <= value <= highest:
            raise _fail(f"must be {lowest} to {highest}, is {value}")
        return value

    return convert


def one_of(*words: str) -> Convert:
    """Make a converter that takes one of some words."""

    def convert(value: Any) -> str:
        if value not in words:
            raise _fail(f"expected {' or '.join(words)}, got {value!r}")
        return str(value)

    return convert


def any_map(value: Any) -> dict[str, Any]:
    """Take a map of plain values; an empty list stands for an empty map, as Lua has it."""
    if value == [] and type(value) is list:
        return {}
    if type(value) is not dict:
        raise _fail(f"expected a map, got {kind_of(value)}")
    if (problem := why_not_plain(value, MAX_DEPTH)) is not None:
        raise _fail(f"cannot take {problem}")
    return value


def client(value: Any) -> dict[str, Any]:
    """Take what a client says of itself; its name is stored with its events."""
    given = any_map(value)
    if type(given.get("version", "")) not in (str, type(None)):
        raise _fail("its version: expected a string, major.minor.patch")
    if given.get("name") is not None:
        try:
            label(given["name"])
        except InvalidParams as error:
            raise _fail(f"its name: {error.message}") from None
    return given


def tags(value: Any) -> dict[str, str]:
    """Take a map of strings."""
    given = any_map(value)
    for tag, text in given.items():
        if not 1 <= len(tag) <= MAX_LABEL:
            raise _fail(f"the name of a tag must have 1 to {MAX_LABEL} characters")
        if len(string(text)) > MAX_TITLE:
            raise _fail(f"the tag {tag} may have {MAX_TITLE} characters")
    return given


def strings(value: Any) -> list[str]:
    """Take a list of strings."""
    if type(value) is not list:
        raise _fail(f"expected a list of strings, got {kind_of(value)}")
    return [string(item) for item in value]


def target(value: Any) -> list[str]:
    """Take what pushes are to be sent to: a method and its first arguments. Every push carries it."""
    given = strings(value)
    if sum(map(len, given)) > MAX_TARGET:
        raise _fail(f"may have {MAX_TARGET} characters in all")
    return given


def kinds(value: Any) -> list[str]:
    """Take a list of kinds of events."""
    given = strings(value)
    for kind in given:
        if kind not in KNOWN:
            raise _fail(f"{kind!r} is no kind of event; there are {', '.join(sorted(KNOWN))}")
    return list(dict.fromkeys(given))  # each is a parameter of the database's, which takes so many


def body(value: Any) -> str:
    """Take a text that a provider wrote; what cannot stand in it is replaced where it is read."""
    if type(value) is not str:
        raise _fail(f"expected the body as text, got {kind_of(value)}")
    return value


def extra(value: Any) -> dict[str, Any] | str:
    """Take what goes to the top of a body: a map, or JSON text where it is deep."""
    return string(value) if type(value) is str else any_map(value)


def tool_names(value: Any) -> dict[str, str]:
    """Take the names of tools, by the names that they were sent under."""
    given = any_map(value)
    for sent, own in given.items():
        if (problem := check_name(own)) is not None:
            raise _fail(f"{sent}: {problem}")
    return given


def prefix(value: Any) -> dict[str, Any]:
    """Take the prefix of an earlier rendering, as that gave it."""
    given = any_map(value)
    if given.keys() != {"messages", "hash"} or type(given["messages"]) is not int or type(given["hash"]) is not str:
        raise _fail("expected the prefix that render gave: {messages, hash}")
    return given


def anything(value: Any) -> Any:
    """Take a value that its handler checks; only how deep it is matters here."""
    return value


def messages(value: Any) -> Any:
    """Return messages for the handler to check, and a single one as a list: it has the same digest, then."""
    if type(value) is not dict or not value:
        return value
    if is_deeper(value, MAX_DEPTH - 2):  # the list is a level more
        raise _fail(_TOO_DEEP)
    return [value]


_LISTS = frozenset({anything, messages, strings, target, kinds})

# A map with one of these at the end of the parameters is a message or a record, if its place is that of messages:
# no parameter of a method that takes messages is called so.
_OF_MESSAGES = frozenset({"role", "kind"})


class Signature:
    """The parameters of a method, in order."""

    def __init__(self, params: tuple[Param, ...]) -> None:
        self.params = params
        self._index = {param.name: number for number, param in enumerate(params)}
        self._required = sum(not param.optional for param in params)
        self._accepted = f"accepted: {', '.join(self.shown())}" if params else "it takes none"

    def shown(self) -> list[str]:
        """List the names, with a question mark where one may be left out."""
        return [f"{param.name}?" if param.optional else param.name for param in self.params]

    def bind(self, params: Any) -> tuple[list[Any], int]:
        """Give the value of each parameter, ``None`` where it was left out, and how many characters were replaced.

        Raises:
            InvalidParams: one is missing, unknown, doubled or wrong; ``data`` has its name as ``field``.
        """
        positional, named = self._split(params)
        if len(positional) > len(self.params):
            raise InvalidParams(f"{len(positional)} parameters are too many; {self._accepted}")
        values: list[Any] = [None] * len(self.params)
        replaced = 0
        for number, value in enumerate(positional):
            if value is not None:
                replaced += self._take(values, number, value)
        for key, value in named.items():
            found = self._index.get(key)
            if found is None:
                raise InvalidParams(f"there is no parameter {key!r}; {self._accepted}", field=str(key))
            if values[found] is not None:
                raise InvalidParams(f"{key} is given twice; {self._accepted}", field=key)
            if value is not None:
                replaced += self._take(values, found, value)
        for number in range(self._required):
            if values[number] is None:
                missing = self.params[number].name
                raise InvalidParams(f"{missing} is missing; {self._accepted}", field=missing)
        return values, replaced

    def _split(self, params: Any) -> tuple[list[Any], dict[Any, Any]]:
        if type(params) is dict:
            return [], params
        if params is None:
            return [], {}
        if type(params) is not list:
            raise InvalidParams(f"params: expected a list or a map, got {kind_of(params)}")
        if not params or params in ([None], [[]]):
            return [], {}
        last = params[-1]
        convert = self._convert_at(len(params) - 1)
        if type(last) is dict:
            if convert is messages and not _OF_MESSAGES.isdisjoint(last):
                return params, {}
            return params[:-1], last
        if type(last) is list and not last and convert not in _LISTS:
            return params[:-1], {}  # Lua's empty table
        return params, {}

    def _convert_at(self, number: int) -> Convert | None:
        return self.params[number].convert if number < len(self.params) else None

    def _take(self, values: list[Any], number: int, value: Any) -> int:
        param = self.params[number]
        if is_deeper(value, MAX_DEPTH - 1):  # first: a converter may show the value, and must not recurse too deep
            raise InvalidParams(f"{param.name}: {_TOO_DEEP}", field=param.name)
        try:
            value = param.convert(value)
        except InvalidParams as error:
            raise InvalidParams(f"{param.name}: {error.message}", field=param.name) from None
        if type(value) is Free:
            values[number] = value.text
            return value.replaced
        values[number] = value
        return 0
