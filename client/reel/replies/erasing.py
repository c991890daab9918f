"""What was erased."""

from __future__ import annotations

from reel.light_typing import NamedTuple


class Place(NamedTuple):
    """An event: its agent's id, and its seq."""

    agent: str
    seq: int


class ErasedBackup(NamedTuple):
    """What was erased in a backup: how many events."""

    path: str
    events: int


class Redacted(NamedTuple):
    """What ``redact`` replies; without ``command`` and ``time`` if nothing was written."""

    agent: str
    head: int
    # How many events were changed, and the first thousand of them. One counts several times if several requests were
    # needed, and there are more.
    redacted: int
    events: list[Place]
    # The ids of all agents that had what was redacted in their past.
    affected: list[str]
    command: int | None = None
    time: int | None = None
    # Whether the database still has traces, because somebody reads an old state of it; they go when that ends.
    traces: bool = False
    repeated: bool = False
    # The path of each backup that was named, and how many of its events were changed or removed.
    backups: list[ErasedBackup] | tuple[()] = ()
    # What matched, if there was a pattern.
    texts: list[str] | tuple[()] = ()


class Purged(NamedTuple):
    """What ``purge`` replies; without ``time`` if it was a dry run."""

    agent: str
    head: int
    # The ids of the agents that are gone, and how many events.
    purged: list[str]
    events: int
    # How many of their events stay, because they are part of what the heirs took over; and the ids of these.
    kept: int
    heirs: list[str]
    time: int | None = None
    # Whether the database still has traces, because somebody reads an old state of it; they go when that ends.
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
    """What ``retention`` replies: the agents that are too old, and what is gone of them."""

    agents: list[OldAgent]
    purged: list[str]
    events: int
    kept: int
    heirs: list[str]
    # Whether the database still has traces, because somebody reads an old state of it; they go when that ends.
    traces: bool = False
