"""Idempotency: a command that is repeated under its key is not applied again; it gets the first reply.

A key is not looked up when all goes well. Its row is written in the command's own transaction, so a second use of the
key makes that transaction fail, and most of what a repeated command asks for fails even earlier (the head has moved,
the name is taken). So a key costs one row and no query: only the error of a command with a key is passed to
:func:`repeated` before it is sent, and a command that has nothing to write looks up its :func:`first_reply`.

A key belongs to one command on one agent. A retry uses the same address as the first attempt, so that address is
accepted even if it now belongs to no agent or to another one: the agent may have been renamed since. Any other address
has to resolve to the same agent. If it does not, the command is not a retry, and the first reply would claim a write
that did not happen.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from msgpack import Packer, unpackb

from reel.base.errors import Conflict, ReelError, Storage
from reel.base.light_typing import NamedTuple
from reel.wire.msgpack_codec import LastingPacker
from reeld.agents.packing import loop_packer
from reeld.core.stage import Reply
from reeld.store import queries
from reeld.store.erasures import hidden
from reeld.store.queries import StoredKey
from reeld.store.store import Store
from reeld.store.transactions import Key

# The digest is of the parameters as they arrived, before anything was replaced or refused; JSON has integers of any
# length. Lone surrogates, which are rare, take a packer that encodes every text by itself.
_packer = LastingPacker(lambda: Packer(default=str).pack)
# More parameters than any method has.
_MOST_PARAMS = 16


class IdempotencyKey(NamedTuple):
    """A key, and the command that it came with: its digest, the agent that it is about, its method and parameters.

    ``address`` is how the agent was named, and ``about`` the row that it was found at. Both are ``None`` with
    ``create``, ``about`` also if no agent was found.
    """

    text: str
    digest: bytes
    address: str | None
    about: int | None
    method: str
    params: Sequence[Any]


class CommandOptions(NamedTuple):
    """The parameters that all commands share, and the client's name."""

    if_seq: int | None = None
    key: IdempotencyKey | None = None
    client: str | None = None


def key_of(
    text: str, method: str, params: Sequence[Any], address: str | None = None, about: int | None = None
) -> IdempotencyKey:
    """Return a key, and the command that it came with; its parameters are those of :func:`digest`."""
    return IdempotencyKey(text, digest(method, params), address, about, method, params)


def digest(method: str, params: Sequence[Any]) -> bytes:
    """Return a digest of a command's parameters without its agent's address, ``if_seq`` and ``key``."""
    try:
        packed = _packer.pack((method, params))
    except UnicodeEncodeError:
        packed = Packer(default=str, unicode_errors="surrogatepass").pack((method, params))
    _packer.forget(len(packed))
    return blake2b(packed, digest_size=16).digest()


def key_row(key: IdempotencyKey, agent: int, reply: Reply | bytes, command: int) -> Key:
    """Return the row that remembers a command in the log of this agent, and its reply."""
    about = agent if key.about is None else key.about
    packed = reply if isinstance(reply, bytes) else loop_packer.pack(reply)
    return Key(key.text, agent, command, key.digest, packed, key.address, about)


async def first_reply(store: Store, key: IdempotencyKey | None) -> Reply | None:
    """Return the first reply of a command, or ``None`` if it was not applied before.

    Raises:
        Conflict: the key was used for another command, or for another agent.
        Storage: what is stored of the key is damaged.
    """
    stored = None if key is None else await store.read(queries.key, key.text)
    if key is None or stored is None:
        return None
    if not stored.is_intact:
        raise Storage(
            f"what is stored of the key {key.text} is damaged, so it is unknown whether this command was carried out;"
            " look whether it was, and make a new key if not; see reel verify"
        )
    if not _is_of_the_same_command(key, stored):
        raise _conflict(key, stored, f"another command, of the agent {stored.name}")
    if not _is_about_the_same_agent(key, stored):
        raise _conflict(key, stored, f"the agent {stored.name}")
    return {**unpackb(stored.reply), "repeated": True}


def _is_of_the_same_command(key: IdempotencyKey, stored: StoredKey) -> bool:
    """Return whether a key was used for this command, by this version or by another one.

    A digest has the value of each parameter. Versions append parameters to a method, so with the same command an older
    one has fewer ``None`` at the end of its list, and a newer one more.
    """
    if stored.digest == key.digest:
        return True
    given = list(key.params)
    while given and given[-1] is None:
        del given[-1]
    return any(
        stored.digest == digest(key.method, [*given, *[None] * more]) for more in range(_MOST_PARAMS - len(given))
    )


def _is_about_the_same_agent(key: IdempotencyKey, stored: StoredKey) -> bool:
    unknown = stored.about is None  # it was stored by a version that did not record the agent
    addresses = (key.address, hidden(key.address))
    return unknown or stored.address in addresses or stored.about == key.about


def _conflict(key: IdempotencyKey, stored: StoredKey, what: str) -> Conflict:
    advice = "make a new key for each command"
    return Conflict(f"the key {key.text} was used for {what}; {advice}", key=key.text, agent=stored.uid)


async def repeated(store: Store, key: IdempotencyKey | None, error: ReelError) -> Reply:
    """Return the first reply of a command that was refused because it was applied before.

    Raises:
        Conflict: as in :func:`first_reply`.
        ReelError: ``error``, if the command was not applied before.
    """
    reply = await first_reply(store, key)
    if reply is None:
        raise error
    return reply
