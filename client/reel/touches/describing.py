"""Tools of a user's own programs, which tables of a settings file describe.

A table is named after its tool, and names its arguments: ``read``, ``wrote`` or ``ran`` names the one with the path of
the file, or with the command; beside ``wrote``, ``before`` and ``after`` name those with the texts, and ``whole`` says
that ``after`` becomes the whole file.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.touches.commands import written
from reel.touches.tools import KNOWN, Arguments, FileTool, Tool, text_in
from reel.touches.touch import Touch

_TEXTS = ("read", "wrote", "ran", "before", "after")


class WrongTable(ValueError):
    """A table describes no tool; the message says which one, and what would be right."""


class Described(NamedTuple):
    """The known tools and the described ones, and a number that changes with the descriptions; 0 if there are none.

    It is pickled as the tables that describe the tools.
    """

    tools: Mapping[str, Tool] = KNOWN
    digest: int = 0
    tables: Any = MappingProxyType({})

    def __reduce__(self) -> tuple[Any, ...]:
        return described, ({**self.tables},)


def described(tables: Any) -> Described:
    """Return the tools of tables, by the names of the tools.

    Raises:
        WrongTable: one describes no tool.
    """
    if not isinstance(tables, Mapping):
        raise WrongTable("tools: expected a table for each tool, such as [tools.save]")
    if not tables:
        return Described()
    own = {name: Tool(_reader(name, table)) for name, table in tables.items()}
    text = json.dumps(tables, sort_keys=True, default=str)
    digest = int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=7).digest(), "big")
    return Described(MappingProxyType({**KNOWN, **own}), digest or 1, tables)


def _reader(name: str, table: Any) -> Callable[[Arguments], Iterator[Touch]]:
    where = f"tools.{name}"
    if not isinstance(table, Mapping):
        raise WrongTable(f"{where}: expected a table, such as [tools.{name}] with read, wrote or ran")
    for key, value in table.items():
        if key not in (*_TEXTS, "whole"):
            raise WrongTable(f"{where}: {key!r} is not known; there are {', '.join(_TEXTS)} and whole")
        if not isinstance(value, bool if key == "whole" else str) or value == "":
            expected = "true or false" if key == "whole" else "the name of an argument"
            raise WrongTable(f"{where}.{key}: expected {expected}, got {value!r}")
    deeds = [key for key in ("read", "wrote", "ran") if key in table]
    if len(deeds) != 1:
        raise WrongTable(f"{where}: expected one of read, wrote and ran, got {' and '.join(deeds) or 'none'}")
    if deeds == ["wrote"]:
        if "after" not in table:
            raise WrongTable(f"{where}: after is missing, the argument with the text that is written")
        texts = {key: (table[key],) for key in ("before", "after") if key in table}
        return FileTool("wrote", (table["wrote"],), whole=table.get("whole", False), **texts).read
    if beside := table.keys() - deeds:
        raise WrongTable(f"{where}: {min(beside)} is only for a tool that wrote")
    return FileTool("read", (table["read"],)).read if deeds == ["read"] else partial(_ran, table["ran"])


def _ran(argument: str, arguments: Arguments) -> Iterator[Touch]:
    command = text_in(arguments, (argument,))
    if command is not None and command.strip():
        yield Touch("ran", "", command=command)
        yield from written(command)
