"""The replies to commands that erase."""

from __future__ import annotations

from reel.base.light_typing import NamedTuple


class Place(NamedTuple):
    """An event: its agent's id, and its seq."""

    agent: str
    seq: int


class ErasedBackup(NamedTuple):
    """How many events were erased in a backup."""

    path: str
    events: int


class Redacted(NamedTuple):
    """The reply to ``redact``; without ``command`` and ``time`` if nothing was written."""

    agent: str
    head: int
    # How many events were changed, and the first thousand of them. One counts several times if several requests were
    # needed, and there are more.
    redacted: int
    events: list[Place]
    # The ids of all agents that had a redacted event in their past.
    affected: list[str]
    command: int | None = None
    time: int | None = None
    # Whether the database still has traces; they are removed as soon as that is possible, and `stats` says why not yet.
    traces: bool = False
    repeated: bool = False
    # The path of each backup that was named, and how many of its events were changed or removed.
    backups: list[ErasedBackup] | tuple[()] = ()
    # The matches, if there was a pattern.
    texts: list[str] | tuple[()] = ()


class Pruned(NamedTuple):
    """The reply to ``prune``; without ``command`` and ``time`` if nothing was written."""

    agent: str
    head: int
    # The seq before which it was.
    before: int
    # How many events lost what they said, and the bytes of it.
    pruned: int
    bytes: int
    # How many events stay only because of a mark, a redo or another agent; and the ids of these agents.
    kept: int
    heirs: list[str]
    command: int | None = None
    time: int | None = None
    # Whether the database still has traces; they are removed as soon as that is possible, and `stats` says why not yet.
    traces: bool = False
    repeated: bool = False


class Purged(NamedTuple):
    """The reply to ``purge``; without ``time`` if it was a dry run."""

    agent: str
    head: int
    # The ids of the removed agents, and how many events were removed.
    purged: list[str]
    events: int
    # How many of their events stay, because the heirs need them; and the ids of the heirs.
    kept: int
    heirs: list[str]
    time: int | None = None
    # Whether the database still has traces; they are removed as soon as that is possible, and `stats` says why not yet.
    traces: bool = False
    repeated: bool = False
    # The path of each backup that was named, and how many of its events were changed or removed.
    backups: list[ErasedBackup] | tuple[()] = ()


class OldAgent(NamedTuple):
    """An agent that is older than the settings allow."""

    id: str
    name: str
    updated: int


class Retained(NamedTuple):
    """The reply to ``retention``: the agents that are too old, and what was removed; a thousand of each."""

    agents: list[OldAgent]
    purged: list[str]
    events: int
    kept: int
    heirs: list[str]
    # Whether the database still has traces; they are removed as soon as that is possible, and `stats` says why not yet.
    traces: bool = False
    # How many agents are too old, and how many were removed.
    agents_count: int = 0
    purged_count: int = 0
    # The time before which nothing is removed, because the settings are new or reach further than before.
    after: int | None = None
    # How many other agents are too old and are left because somebody follows them.
    followed_count: int = 0
    # Whether no setting says that anything is removed.
    off: bool = False
    # Of how many living conversations what nothing reaches any more was pruned, and how many events, and bytes of text.
    histories_count: int = 0
    pruned: int = 0
    pruned_bytes: int = 0
    # The time before which nothing is pruned, because that setting is new or reaches further than before.
    history_after: int | None = None
