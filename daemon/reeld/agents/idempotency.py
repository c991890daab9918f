"""Idempotency: a command that was given before under the same key is not applied again; it gets its first reply.

A key is not looked up when all goes well. Its row is written in the command's own transaction, so a second use of
the key makes that transaction fail, and most of what a repeated command asks for fails even earlier (the head has
moved, the name is taken). So a key costs one row and no query: only the error of a command with a key is shown to
:func:`repeated` before it is sent, and a command that finds nothing to write asks for its :func:`first_reply`.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from msgpack import Packer, unpackb

from reel.errors import Conflict, ReelError
from reel.msgpack_codec import packer
from reeld.core.commands import Reply
from reeld.store.store import Store
from reeld.store.units import Key

_pack = packer()
# A digest is taken of what arrived, before anything in it was replaced or refused; JSON has integers of any length.
_pack_raw = Packer(default=str, unicode_errors="surrogatepass").pack


class IdempotencyKey(NamedTuple):
    """A key, and the digest of the command that it was given with."""

    text: str
    digest: bytes


class CommandOptions(NamedTuple):
    """What every command takes beside its own parameters, and the name of the client that gave it."""

    if_seq: int | None = None
    key: IdempotencyKey | None = None
    client: str | None = None


def digest(method: str, params: Sequence[Any]) -> bytes:
    """Return a digest of a command's parameters without its agent's address, ``if_seq`` and ``key``."""
    return blake2b(_pack_raw((method, params)), digest_size=16).digest()


def key_row(key: IdempotencyKey, agent: int, reply: Reply) -> Key:
    """Return the row that remembers a command and its reply."""
    return Key(key.text, agent, reply["command"], key.digest, _pack(reply))


async def first_reply(store: Store, key: IdempotencyKey | None) -> Reply | None:
    """Return the first reply of a command, or ``None`` if it was not applied before.

    Raises:
        Conflict: the key was used for another command.
    """
    stored = None if key is None else await store.key(key.text)
    if key is None or stored is None:
        return None
    if stored.digest != key.digest:
        raise Conflict(f"the key {key.text} was used for another command; make a new key for each", key=key.text)
    return {**unpackb(stored.reply), "repeated": True}


async def repeated(store: Store, key: IdempotencyKey | None, error: ReelError) -> Reply:
    """Return the first reply of a command that was refused because it was applied before.

    Raises:
        Conflict: the key was used for another command.
        ReelError: ``error``, if the command was not applied before.
    """
    reply = await first_reply(store, key)
    if reply is None:
        raise error
    return reply
