"""Tools of a user's own programs, which tables of a settings file describe.

A table is named after its tool, and names its arguments: ``read``, ``wrote`` or ``ran`` names the one with the path of
the file, or with the command; beside ``wrote``, ``before`` and ``after`` name those with the texts, and ``whole`` says
that ``after`` becomes the whole file.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from types import MappingProxyType

from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from reel.touches.tools import Tool


class Described(NamedTuple):
    """The known tools and the described ones, and a number that changes with the descriptions.

    Without a description, as nearly always, it has none, and the number is 0: so nobody loads the known ones for
    nothing. It is pickled as the tables that describe the tools.
    """

    tools: Mapping[str, Tool] = MappingProxyType({})
    digest: int = 0
    tables: Any = MappingProxyType({})

    def __reduce__(self) -> tuple[Any, ...]:
        return described, ({**self.tables},)


def described(tables: Any) -> Described:
    """Return the tools of tables, by the names of the tools.

    Raises:
        WrongTable: one describes no tool.
    """
    if tables == {}:
        return Described()
    from reel.touches.tables import tools_of  # noqa: PLC0415 - few have any

    tools = tools_of(tables)
    text = json.dumps(tables, sort_keys=True, default=str)
    digest = int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=7).digest(), "big")
    return Described(tools, digest or 1, tables)
