"""The checksums of keys and of erasures, which are beside the log; see :mod:`reeld.store.checksums` for what they are.

A damaged key would give a client the reply of another command, or refuse its retry; a damaged erasure would hide what
was removed. Older versions wrote both without a checksum, and so does an older daemon on the same server: these rows
are taken as they are. What of an erasure changes while it is carried out, its state and its backups, is not covered.
"""

from collections.abc import Sequence
from typing import Any

from reeld.core.events import Pack
from reeld.store.checksums import NO_CHECKSUM, checksum
from reeld.store.connection import Cursor

KEY = ("key", "agent", "command", "digest", "reply", "address", "about")
ERASURE = ("id", "method", "agent", "client", "time", "events", "newest", "key", "digest", "address", "reply")
_KEY = f"SELECT {', '.join(KEY)}, checksum FROM keys WHERE id = ?"
_ERASURE = f"SELECT {', '.join(ERASURE)} FROM erasures WHERE id = ?"
_REPLY, _ADDRESS = KEY.index("reply"), KEY.index("address")


def is_unchanged(pack: Pack, row: Sequence[Any], stored: int | None) -> bool:
    """Return whether a key or an erasure is what was written, as far as that is known.

    Args:
        row: the columns of ``KEY`` or ``ERASURE``.
        stored: its checksum; ``None`` if it has none.
    """
    return stored is None or (stored != NO_CHECKSUM and stored == checksum(pack, row))


def change_key(cursor: Cursor, number: int, reply: bytes, address: str | None, pack: Pack) -> None:
    """Change the reply and the address of a key, inside a transaction; a damaged key stays damaged."""
    found = cursor.execute(_KEY, (number,)).fetchone()
    if found is None:
        return
    *row, stored = found
    sealed = stored
    if stored is not None and is_unchanged(pack, row, stored):
        row[_REPLY], row[_ADDRESS] = reply, address
        sealed = checksum(pack, row)
    cursor.execute(
        "UPDATE keys SET reply = ?, address = ?, checksum = ? WHERE id = ?", (reply, address, sealed, number)
    )


def seal_erasure(cursor: Cursor, number: int, pack: Pack) -> None:
    """Give an erasure that was decided its checksum, inside a transaction."""
    row = cursor.execute(_ERASURE, (number,)).fetchone()
    cursor.execute("UPDATE erasures SET checksum = ? WHERE id = ?", (checksum(pack, row), number))
