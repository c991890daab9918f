"""What each table of tools says: the tool that it describes, and why it describes none."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from reel.touches.commands import written
from reel.touches.tools import KNOWN, Arguments, FileTool, Tool, text_in
from reel.touches.touch import Touch

_TEXTS = ("read", "wrote", "ran", "before", "after")


class WrongTable(ValueError):
    """A table describes no tool; the message says which one, and what would be right."""


def tools_of(tables: Any) -> Mapping[str, Tool]:
    """Return the known tools and those of tables, by the names of the tools.

    Raises:
        WrongTable: one describes no tool.
    """
    if not isinstance(tables, Mapping):
        raise WrongTable("tools: expected a table for each tool, such as [tools.save]")
    return MappingProxyType({**KNOWN, **{name: Tool(_reader(name, table)) for name, table in tables.items()}})


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
