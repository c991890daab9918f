"""Lists as parameters: PostgreSQL's arrays in their binary form, of which ``unnest`` makes rows."""

from collections.abc import Callable
from struct import Struct
from typing import Any

import psycopg
from psycopg import pq
from psycopg.adapt import Buffer, Dumper

from reeld.store.connection import Numbers, Texts
from reeld.store.postgres.dialect import escaped

# Dimensions, whether there may be NULLs, the type of the elements; how many there are, and the number of the first one.
_ARRAY, _DIMENSION = Struct("!iiI").pack, Struct("!ii").pack
_SIZE = Struct("!i").pack
_NULL = _SIZE(-1)


class Integers(list[int | None]):
    """Integers as one parameter."""


class Strings(list[str | None]):
    """Texts as one parameter."""


class Blobs(list[bytes | None]):
    """Byte strings as one parameter."""


def _dumper(element_type: str, encode: Callable[[Any], bytes]) -> type[Dumper]:
    found = psycopg.adapters.types[element_type]
    empty, head = _ARRAY(0, 0, found.oid), _ARRAY(1, 1, found.oid)

    class ArrayDumper(Dumper):
        format = pq.Format.BINARY
        oid = found.array_oid

        def dump(self, obj: Any) -> Buffer:
            if not obj:
                return empty
            parts = [head, _DIMENSION(len(obj), 1)]
            for element in obj:
                if element is None:
                    parts.append(_NULL)
                else:
                    encoded = encode(element)
                    parts += (_SIZE(len(encoded)), encoded)
            return b"".join(parts)

    return ArrayDumper


_INTEGERS = _dumper("int8", Struct("!q").pack)
_STRINGS = _dumper("text", lambda text: escaped(text).encode())
DUMPERS: dict[type, type[Dumper]] = {
    Integers: _INTEGERS,
    Numbers: _INTEGERS,
    Strings: _STRINGS,
    Texts: _STRINGS,
    Blobs: _dumper("bytea", bytes),
}
