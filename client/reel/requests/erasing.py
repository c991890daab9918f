"""Commands that remove for good what was said."""

from __future__ import annotations

from reel import replies
from reel.light_typing import TYPE_CHECKING
from reel.requests.calls import Call, call, reply_reader

if TYPE_CHECKING:
    from typing import Any


def redact(
    agent: str,
    seqs: list[int] | None = None,
    text: str | list[str] | None = None,
    dry_run: bool | None = None,  # noqa: FBT001 - in the protocol's order
    backups: list[str] | None = None,
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.Redacted]:
    """Replace what was said in an agent's past by a marker, for everybody who inherited it; this cannot be undone.

    Args:
        agent: a name or an id.
        seqs: the events whose content goes.
        text: a text, or several, that go wherever they are; either this or ``seqs``.
        dry_run: change nothing, and return what would be changed.
        backups: the absolute paths of backups in which it is redacted as well.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.

    Raises:
        InvalidParams: a seq is of no event with content.
    """
    return call(
        "redact",
        _read_redacted,
        writes=True,
        agent=agent,
        seqs=seqs,
        text=text,
        dry_run=dry_run,
        backups=backups,
        if_seq=if_seq,
        key=key,
    )


def _read_redacted(result: dict[str, Any]) -> replies.Redacted:
    read = reply_reader(replies.Redacted)(result)
    return read._replace(events=[reply_reader(replies.Place)(place) for place in result["events"]])


def purge(
    agent: str,
    cascade: bool | None = None,  # noqa: FBT001 - in the protocol's order
    force: bool | None = None,  # noqa: FBT001 - in the protocol's order
    dry_run: bool | None = None,  # noqa: FBT001 - in the protocol's order
    backups: list[str] | None = None,
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.Purged]:
    """Remove an agent and every event that no other agent's past needs; this cannot be undone.

    Args:
        agent: a name or an id.
        cascade: remove its clones that were killed as well, and theirs.
        force: remove all its clones, and theirs.
        dry_run: change nothing, and return what would be removed.
        backups: the absolute paths of backups from which it is removed as well.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.
    """
    return call(
        "purge",
        reply_reader(replies.Purged),
        writes=True,
        agent=agent,
        cascade=cascade,
        force=force,
        dry_run=dry_run,
        backups=backups,
        if_seq=if_seq,
        key=key,
    )


def retention(dry_run: bool | None = None) -> Call[replies.Retained]:  # noqa: FBT001 - in the protocol's order
    """Purge the agents that are older than the daemon's settings allow; this cannot be undone.

    Args:
        dry_run: change nothing, and return what would be removed.
    """
    return call("retention", _read_retained, dry_run=dry_run)


def _read_retained(result: dict[str, Any]) -> replies.Retained:
    read = reply_reader(replies.Retained)({**result, "agents": []})
    return read._replace(agents=[reply_reader(replies.OldAgent)(agent) for agent in result["agents"]])
