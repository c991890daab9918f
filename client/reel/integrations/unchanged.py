"""What a program knows of an agent is everything as long as the agent has the same fingerprint."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reel.replies import Hello
    from reel.sync.changes import Fingerprint
    from reel.sync.client import Client


def is_unchanged(client: Client, server: Hello | None, agent: str, known: Fingerprint | None) -> bool:
    """Return whether an agent is known to be as it was, without a request.

    Args:
        client: the client that read it.
        server: what :attr:`reel.Client.server` was then.
        agent: its id.
        known: its fingerprint before it was read; ``None`` if it had none.
    """
    return known is not None and client.fingerprint(server, agent) == known


def after_events(known: Fingerprint | None, events: int) -> Fingerprint | None:
    """Return the fingerprint of an agent after so many more events, if nothing else happens to it.

    The numbers only grow: if others have written as well, no later fingerprint is this one.

    Args:
        known: its fingerprint before; ``None`` if it had none.
        events: their number.
    """
    if known is None:
        return None
    of_any, of_agent = known
    return of_any, of_agent + 2 * events  # the daemon counts them before and after the commit
