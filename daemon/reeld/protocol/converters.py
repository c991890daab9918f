"""Converters of parameters: from a value of the wire to what a handler takes, or a refusal that says what is wrong."""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from reel.base.errors import InvalidParams
from reel.base.light_typing import NamedTuple
from reel.base.values import MAX_INTEGER, clean, is_clean, is_deeper, why_not_plain
from reel.said.blocks import InvalidRecord, check_name, kind_of
from reel.said.formats import FORMATS
from reel.said.kinds import KNOWN
from reel.said.records import parse_data
from reel.wire.frames import MAX_MESSAGE
from reeld.core.item_forms import is_own
from reeld.core.validation import why_not_a_name

# The roles that a search can select.
SEARCHED_ROLES = ("user", "assistant", "tool", "system")
# Levels of lists and maps in a request; the params themselves are the first.
MAX_DEPTH = 16
_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
MAX_LABEL = 256
MAX_TITLE = 1024
MAX_TARGET = 4096
# Names and values together, in bytes. A list of agents shows the tags of each.
MAX_TAGS = 65_536
MAX_ITEMS = 10_000
# Bytes of a page: as many as a message to the daemon may have, so a page of one entry may reach that anyway.
MAX_PAGE = MAX_MESSAGE
# Texts of one redaction: each is looked for in every event.
MAX_TEXTS = 1000
# Parts of one command: all of their agents are held still at once.
MAX_PARTS = 100
# Directories of a search: the working trees of a repository.
MAX_DIRECTORIES = 100
# The events of a stretch: as many as a list may have in MessagePack, as with the messages of an `add`.
MAX_EVENTS = 65_536

# Converts a value of the wire to what the handler takes; raises InvalidParams if it cannot.
Convert: TypeAlias = Callable[[Any], Any]


class Free(NamedTuple):
    """A free text in which characters were replaced, and how many."""

    text: str
    replaced: int


def string(value: Any) -> str:
    """Convert a string that a program interprets."""
    if type(value) is not str:
        raise InvalidParams(f"expected a string, got {kind_of(value)}")
    if not is_clean(value):
        raise InvalidParams("must not contain NUL, lone surrogates or invalid UTF-8")
    return value


def free_text(value: Any) -> str | Free:
    """Convert a free text; characters that it cannot hold are replaced and counted."""
    if type(value) is not str:
        raise InvalidParams(f"expected a string, got {kind_of(value)}")
    text, replaced = clean(value)
    return Free(text, replaced) if replaced else text


def title(value: Any) -> str | Free:
    """Convert a title; an empty one removes it."""
    if type(value) is str and len(value) > MAX_TITLE:
        raise InvalidParams(f"may have {MAX_TITLE} characters, has {len(value)}")
    return free_text(value)


def name(value: Any) -> str:
    """Convert the name of an agent."""
    text = string(value)
    if (problem := why_not_a_name(text)) is not None:
        raise InvalidParams(problem)
    return text


def label(value: Any) -> str:
    """Convert a mark's label or an idempotency key."""
    text = string(value)
    if not 1 <= len(text) <= MAX_LABEL:
        raise InvalidParams(f"must have 1 to {MAX_LABEL} characters, has {len(text)}")
    return text


def absolute_path(value: Any) -> str:
    """Convert an absolute path; a relative one would mean the daemon's directory, not the caller's."""
    text = string(value)
    if not text.startswith("/") or text.endswith("/"):
        raise InvalidParams(f"expected the absolute path of a file, got {text[:MAX_LABEL]!r}")
    return text


def absolute_paths(value: Any) -> list[str]:
    """Convert a list of absolute paths."""
    if type(value) is not list:
        raise InvalidParams(f"expected a list of absolute paths, got {kind_of(value)}")
    return [absolute_path(item) for item in value]


def boolean(value: Any) -> bool:
    """Convert a boolean."""
    if type(value) is not bool:
        raise InvalidParams(f"expected true or false, got {kind_of(value)}")
    return value


def integer(lowest: int = 0, highest: int = MAX_INTEGER) -> Convert:
    """Return a converter for integers within bounds, both included."""

    def convert(value: Any) -> int:
        if type(value) is not int:
            raise InvalidParams(f"expected an integer, got {kind_of(value)}")
        if not lowest <= value <= highest:
            raise InvalidParams(f"must be between {lowest} and {highest} (got {value})")
        return value

    return convert


def page_bytes(value: Any) -> int:
    """Convert the size of a page; more than the largest one means that one, because some ask for all there is."""
    asked: int = integer(1)(value)
    return min(asked, MAX_PAGE)


def one_of(*words: str) -> Convert:
    """Return a converter for one of some words."""

    def convert(value: Any) -> str:
        if value not in words:
            raise InvalidParams(unexpected(value, words))
        return str(value)

    return convert


def unexpected(value: Any, words: Sequence[str], last: str = "") -> str:
    """Return what to say of a value that is none of some words: what is expected, and which word may be meant.

    Args:
        value: the value.
        words: the words.
        last: what else is allowed.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - 4 ms, only after a typing error

    near = [word for word in words if type(value) is str and value and word.startswith(value)]
    near = near or get_close_matches(str(value)[:MAX_LABEL], words, 1)
    *first, final = (*words, last) if last else words
    text = f"expected {', '.join(first)} or {final}, got {value!r}"
    return f"{text}; did you mean {near[0]}?" if near else text


def item_format(value: Any) -> str:
    """Convert the format of items, which may be a client's own."""
    if value not in FORMATS and not (type(value) is str and is_own(value)):
        raise InvalidParams(unexpected(value, FORMATS, "a name of your own such as x-mine"))
    return str(value)


def any_map(value: Any) -> dict[str, Any]:
    """Convert a map of plain values; an empty list means an empty map, because Lua has one type for both."""
    if value == [] and type(value) is list:
        return {}
    if type(value) is not dict:
        raise InvalidParams(f"expected a map, got {kind_of(value)}")
    if (problem := why_not_plain(value, MAX_DEPTH)) is not None:
        raise InvalidParams(f"cannot take {problem}")
    return value


def client(value: Any) -> dict[str, Any]:
    """Convert what a client says of itself; its name is stored with its events."""
    given = any_map(value)
    if type(features := given.get("features", [])) is not list or any(type(each) is not str for each in features):
        raise InvalidParams("its features: expected a list of strings")
    if type(given.get("version", "")) not in (str, type(None)):
        raise InvalidParams("its version: expected a string, major.minor.patch")
    if given.get("name") is not None:
        try:
            label(given["name"])
        except InvalidParams as error:
            raise InvalidParams(f"its name: {error.message}") from None
    return given


def tags(value: Any) -> dict[str, str]:
    """Convert a map of strings."""
    given = any_map(value)
    for tag, text in given.items():
        if not 1 <= len(tag) <= MAX_LABEL:
            raise InvalidParams(f"the name of a tag must have 1 to {MAX_LABEL} characters")
        if len(string(text)) > MAX_TITLE:
            raise InvalidParams(f"the tag {tag} may have {MAX_TITLE} characters, has {len(text)}")
    size = sum(len(tag.encode()) + len(text.encode()) for tag, text in given.items())
    if size > MAX_TAGS:
        raise InvalidParams(
            f"all tags together may take {MAX_TAGS:,} bytes ({size:,} given); store longer texts as a note"
        )
    return given


def strings(value: Any) -> list[str]:
    """Convert a list of strings."""
    if type(value) is not list:
        raise InvalidParams(f"expected a list of strings, got {kind_of(value)}")
    return [string(item) for item in value]


def directories(value: Any) -> list[str]:
    """Convert a list of absolute paths of directories."""
    given = strings(value)
    if not given or len(given) > MAX_DIRECTORIES or not all(path.startswith("/") for path in given):
        raise InvalidParams(f"expected 1 to {MAX_DIRECTORIES} absolute paths")
    return given


def addresses(value: Any) -> list[str]:
    """Convert a list of names or ids of agents."""
    given = strings(value)
    if len(given) > MAX_ITEMS:
        raise InvalidParams(f"expected at most {MAX_ITEMS} agents, got {len(given)}")
    return given


def texts(value: Any) -> list[str]:
    """Convert a text, or a list of texts, that is to be removed."""
    given = strings([value] if type(value) is str else value)
    if not given or not all(given) or len(given) > MAX_TEXTS:
        raise InvalidParams(f"expected 1 to {MAX_TEXTS} texts that are not empty")
    return given


def seqs(value: Any) -> list[int]:
    """Convert a list of seqs."""
    convert = integer(1)
    return [convert(item) for item in _listed(value, "seqs", MAX_ITEMS, least=1)]


def many_seqs(value: Any) -> list[int]:
    """Convert a list of seqs of a program, which may be empty."""
    convert = integer(1)
    return [convert(item) for item in _listed(value, "seqs", MAX_EVENTS)]


def stretches(value: Any) -> list[list[int]]:
    """Convert stretches of positions: a list of the first and the last of each."""
    given, convert = _listed(value, "pairs of seqs", MAX_EVENTS), integer(0)
    for item in given:
        if type(item) is not list or len(item) != 2 or convert(item[0]) > convert(item[1]):  # noqa: PLR2004
            raise InvalidParams(f"expected pairs of a first and a last seq, got {_shown(item)}")
    return given


def records(value: Any) -> dict[int, str]:
    """Convert the records of a program: a list of their seqs, each with what is left of it as the JSON of an object."""
    made: dict[int, str] = {}
    convert = integer(1)
    for item in _listed(value, "pairs of seq and JSON", MAX_EVENTS):
        if type(item) is not list or [*map(type, item)] != [int, str]:
            raise InvalidParams(f"expected pairs of a seq and JSON, got {kind_of(item)}")
        seq, text = convert(item[0]), string(item[1])
        if seq in made:
            raise InvalidParams(f"#{seq} is named twice")
        try:
            parse_data(text)
        except InvalidRecord as error:
            raise InvalidParams(f"what is left of #{seq}: {error}") from None
        made[seq] = text
    return made


def parts(value: Any) -> list[Any]:
    """Convert the parts of a command; the handler checks each."""
    return _listed(value, "commands", MAX_PARTS, least=1)


def events(value: Any) -> list[Any]:
    """Convert the events of a stretch; the handler checks each."""
    return _listed(value, "events", MAX_EVENTS, least=1)


def _listed(value: Any, what: str, most: int, least: int = 0) -> list[Any]:
    """Return a list whose items are not checked, but their number is.

    Args:
        value: what may be one.
        what: what its items are.
        most: how many it may have.
        least: how many it must have.
    """
    if type(value) is not list or not least <= len(value) <= most:
        number = f"{least} to {most}" if least else f"at most {most}"
        raise InvalidParams(f"expected a list of {number} {what}, got {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    return f"a list of {len(value)}" if type(value) is list else kind_of(value)


def file(value: Any) -> str:
    """Convert the path of a file, or the last parts of one."""
    text = string(value)
    if not 1 <= len(text) <= MAX_TARGET or not text.strip("/"):
        raise InvalidParams(f"expected the path of a file, of at most {MAX_TARGET} characters")
    return text


def target(value: Any) -> list[str]:
    """Convert the method and the first arguments with which every push is to be sent."""
    given = strings(value)
    if sum(map(len, given)) > MAX_TARGET:
        raise InvalidParams(f"may have {MAX_TARGET} characters in all")
    return given


def kinds(value: Any) -> list[str]:
    """Convert a list of kinds of events."""
    given = strings(value)
    for kind in given:
        if kind not in KNOWN:
            raise InvalidParams(f"unknown event kind {kind!r}; expected one of {', '.join(sorted(KNOWN))}")
    return list(dict.fromkeys(given))  # each becomes a parameter of a query, whose number SQLite limits


def roles(value: Any) -> list[str]:
    """Convert a list of roles."""
    given = strings(value)
    for role in given:
        if role not in SEARCHED_ROLES:
            raise InvalidParams(f"{role!r} is not a role; there are {', '.join(SEARCHED_ROLES)}")
    return given


def cursor(fewest: int, most: int) -> Convert:
    """Return a converter for the place at which a page ended: so many numbers."""

    def convert(value: Any) -> tuple[int, ...]:
        shape = rf"\d{{1,18}}(\.\d{{1,18}}){{{fewest - 1},{most - 1}}}"
        if re.fullmatch(shape, string(value), re.ASCII) is None:
            raise InvalidParams(f"expected the `next` of an earlier page, got {value[:MAX_LABEL]!r}")
        return tuple(map(int, value.split(".")))

    return convert


def body(value: Any) -> str:
    """Convert a provider's body; characters that text cannot hold are replaced when it is parsed."""
    if type(value) is not str:
        raise InvalidParams(f"expected the body as text, got {kind_of(value)}")
    return value


def extra(value: Any) -> dict[str, Any] | str:
    """Convert the top-level parameters of a body: a map, or JSON text if it is deeper than a request may be."""
    return string(value) if type(value) is str else any_map(value)


def tool_names(value: Any) -> dict[str, str]:
    """Convert a map from the names under which tools were sent to their own names."""
    given = any_map(value)
    for sent, own in given.items():
        if (problem := check_name(own)) is not None:
            raise InvalidParams(f"{sent}: {problem}")
    return given


def prefix(value: Any) -> dict[str, Any]:
    """Convert the `prefix` of an earlier rendering's reply."""
    given = any_map(value)
    found = {key: type(given.get(key)) for key in given.keys() | {"messages", "hash"}}
    if {"body": str, **found} != {"messages": int, "hash": str, "body": str}:
        raise InvalidParams("expected the prefix that render gave: {messages, hash, body}")
    return given


def anything(value: Any) -> Any:
    """Return a value for the handler to check; only its depth is checked here."""
    return value


def shallow(value: Any) -> Any:
    """Return a value that is not nested too deep."""
    if type(value) is not str and is_deeper(value, MAX_DEPTH - 1):
        raise InvalidParams(_TOO_DEEP)
    return value


def messages(value: Any) -> Any:
    """Return messages for the handler to check, a single one as a list: both forms have the same digest."""
    if type(value) is not dict or not value:
        return value
    if is_deeper(value, MAX_DEPTH - 2):  # the list is a level more
        raise InvalidParams(_TOO_DEEP)
    return [value]


def token(value: Any) -> int | str:
    """Convert the token that a client knows a later answer by: an integer or a string."""
    converted: int | str = integer(-MAX_INTEGER)(value) if type(value) is int else label(value)
    return converted
