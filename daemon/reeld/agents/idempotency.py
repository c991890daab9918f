"""A command that was given before is not done again: it gets its first reply.

The key is not looked up when all goes well: writing it a second time fails, and so does most of what a repeated
command asks for. Whatever refuses a command with a key is therefore shown to :func:`repeated` first; a command
that finds nothing to write asks for its :func:`first_reply`.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from msgpack import Packer, unpackb

from reel.errors import Conflict, ReelError
from reel.msgpack_codec import packer
from reeld.agents.mail import Keyed
from reeld.core.commands import Reply
from reeld.store.store import Store
from reeld.store.units import Key

_pack = packer()
# A digest is of what came, before anything in it was replaced, or refused: JSON has integers of any length.
_pack_raw = Packer(default=str, unicode_errors="surrogatepass").pack


def digest(method: str, params: Sequence[Any]) -> bytes:
    """Digest what a command asks for: its parameters, less how the agent was addressed, ``if_seq`` and ``key``."""
    return blake2b(_pack_raw((method, params)), digest_size=16).digest()


def key_row(keyed: Keyed, agent: int, reply: Reply) -> Key:
    """Make the row that remembers a command."""
    return Key(keyed.key, agent, reply["command"], keyed.digest, _pack(reply))


async def first_reply(store: Store, keyed: Keyed | None) -> Reply | None:
    """Give the first reply of a command, ``None`` where it was not carried out before.

    Raises:
        Conflict: the key stands for another command.
    """
    stored = None if keyed is None else await store.key(keyed.key)
    if keyed is None or stored is None:
        return None
    if stored.digest != keyed.digest:
        raise Conflict(f"the key {keyed.key} stands for another command; make a new key for each", key=keyed.key)
    return {**unpackb(stored.reply), "repeated": True}


async def repeated(store: Store, keyed: Keyed | None, error: ReelError) -> Reply:
    """Give the first reply of a command that was refused because it was carried out before.

    Raises:
        Conflict: the key stands for another command.
        ReelError: the command is not known; it was refused with this error.
    """
    reply = await first_reply(store, keyed)
    if reply is None:
        raise error
    return reply
