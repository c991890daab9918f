"""What each command writes: functions that put events on a stage, or refuse and put nothing."""

from collections.abc import Sequence
from typing import Any

from reel.base.errors import InvalidParams, NoSuchMark, NotFound
from reeld.core.conversation import Replacement, Takeover
from reeld.core.events import Mark, Origin
from reeld.core.milestones import Extent
from reeld.core.rows import CheckedRow, Row
from reeld.core.stage import PlainText, Reply, Stage
from reeld.core.state import Profile, State
from reeld.core.validation import UNALTERED, Altered


def add(stage: Stage, rows: list[CheckedRow], altered: Altered = UNALTERED, command: int | None = None) -> Reply:
    """Put checked rows; ``command`` is the seq of the command that they belong to, if it has begun already."""
    stage.require_alive()
    first = stage.next_seq
    command = command or first
    orphans = stage.put_rows(command, rows)
    return _added(stage, command, first if rows else 0, orphans, altered)


def replace(
    stage: Stage,
    state: State,
    seq: int,
    tip: int | None,
    past: Takeover,
    rows: list[CheckedRow],
    altered: Altered = UNALTERED,
) -> Reply:
    """Rewind to before an entry, and put checked rows there; there may be none.

    Args:
        stage: the events.
        state: the committed state.
        seq: the entry's.
        tip: the tip of the state before it.
        past: how that state is taken over.
        rows: the rows.
        altered: how much of them was altered.
    """
    stage.require_alive()
    was, conversation = stage.head, state.conversation
    if isinstance(past, Replacement):
        kept, calls = past.kept, past.conversation.open_calls
    else:
        kept, calls = conversation.extent_at(tip), conversation.open_calls_at(tip)
    command = stage.put_rewind({"before": seq}, tip, calls)
    dropped = conversation.extent.records - kept.records
    return {**add(stage, rows, altered, command), "dropped": dropped, "was": was}


def with_known(reply: Reply, known: list[dict[str, int]], *, wrote: bool) -> Reply:
    """Return the reply of an add that left out known rows; if it wrote nothing, it has no command."""
    told = {name: value for name, value in reply.items() if wrote or name not in ("command", "time")}
    return {**told, "known": known} if known else told


def not_live(state: State, seq: int) -> InvalidParams:
    """Return the error for a seq that no entry of the conversation has."""
    name, entries = state.profile.name, state.conversation.entries
    has = f"the newest message or prompt there is {entries[-1].seq}" if entries else "it is empty"
    return InvalidParams(
        f"from: {seq} is not in the current conversation of agent {name}; {has}", field="from", head=state.profile.head
    )


def add_packed(stage: Stage, rows: list[CheckedRow], altered: Altered) -> Reply | bytes:
    """Do what :func:`add` does; return the reply as MessagePack if it has only the usual fields."""
    stage.require_alive()
    first = stage.head + 1
    orphans = stage.put_rows(first, rows)
    if orphans or altered is not UNALTERED or stage.open_calls:
        return _added(stage, first, first, orphans, altered)
    return stage.packed_added(first)


def add_texts(stage: Stage, texts: Sequence[PlainText]) -> Sequence[Reply | bytes]:
    """Add plain texts, as nearly all commands do; return the reply of each command.

    It does what :func:`add_packed` does with each of them by itself.
    """
    stage.require_alive()
    first = stage.head + 1
    replies = stage.put_texts(texts)
    if not stage.open_calls:
        return replies
    calls = [call.as_map() for call in stage.open_calls]
    seqs = range(first, stage.head + 1)
    return [stage.reply(seq, first=seq, orphans=[], open_calls=calls) | {"head": seq} for seq in seqs]


def _added(stage: Stage, command: int, first: int, orphans: list[dict[str, Any]], altered: Altered) -> Reply:
    calls = [call.as_map() for call in stage.open_calls]
    return stage.reply(command, first=first, orphans=orphans, open_calls=calls, **altered.as_map())


def mark(stage: Stage, label: str | None) -> Reply:
    """Put a mark; labels may repeat, and the newest wins."""
    stage.require_alive()
    seq = stage.put_mark(stage.next_seq, label)
    return stage.reply(seq, seq=seq, label=label)


def clear(stage: Stage, state: State) -> Reply:
    """Empty the conversation, and repeat its system prompt."""
    stage.require_alive()
    was, command, prompt = stage.head, stage.next_seq, state.conversation.prompt
    stage.put("clear", command)
    if prompt is not None and state.conversation.system is not None:
        stage.put_rows(command, [CheckedRow(Row("system", prompt.content, prompt.data_json), None)])
    return stage.reply(command, was=was)


def rewind_target(stage: Stage, state: State, label: str | None) -> Mark:
    """Return the mark that a rewind goes to.

    Raises:
        NoSuchMark: there is no such mark; the error lists those that there are.
    """
    stage.require_alive()
    target = state.conversation.mark_for(label)
    if target is None:
        raise no_such_mark(state, label)
    return target


def rewind(stage: Stage, state: State, label: str | None, kept: Extent | None = None) -> Reply:
    """Go back to a mark; ``kept`` is the length of the conversation there, if the mark is not in memory."""
    target = rewind_target(stage, state, label)
    if kept is None:
        kept = state.conversation.extent_at(target.id)
    was, dropped = stage.head, state.conversation.extent.records - kept.records
    data = {"target": target.seq} if label is None else {"label": label, "target": target.seq}
    command = stage.put("rewind", stage.next_seq, data=data, parent=target.id)
    named = {} if target.label is None else {"label": target.label}
    return stage.reply(command, target=target.seq, **named, dropped=dropped, was=was)


def no_such_mark(state: State, label: str | None) -> NoSuchMark:
    """Return the error for a mark that does not exist; it lists those that do."""
    name = state.profile.name
    labels = list(dict.fromkeys(mark.label for mark in state.conversation.marks if mark.label is not None))
    if label is None:
        nothing = "nothing was added since the last mark" if state.conversation.marks else f"agent {name} has no marks"
        return NoSuchMark(nothing, labels=labels)
    known = f"it has: {', '.join(labels)}" if labels else "it has no labelled marks"
    return NoSuchMark(f"agent {name} has no mark {label}; {known}", label=label, labels=labels)


def restore(stage: Stage, to: int, tip: int | None, **why: int) -> Reply:
    """Make the state what it was at ``to``, whose tip is given; ``why`` has ``undoes``, or ``redoes`` and ``undo``."""
    stage.require_alive()
    was = stage.head
    command = stage.put("restore", stage.next_seq, data={"to": to, **why}, parent=tip)
    return stage.reply(command, was=was)


def change(stage: Stage, name: str | None, title: str | None, tags: dict[str, str] | None) -> Reply:
    """Change an agent's name, title or tags; an empty title removes it."""
    stage.require_alive()
    changes: dict[str, Any] = {}
    if name is not None:
        changes["name"] = name
    if title is not None:
        changes["title"] = title or None
    if tags is not None:
        changes["tags"] = tags
    if not changes:
        raise InvalidParams("change needs a name, a title or tags")
    command = stage.put_inert("changed", stage.next_seq, changes)
    stage.base = stage.base._replace(**changes)
    return stage.info(command)


def kill(stage: Stage, by: str | None, reason: str | None, *, cascade: bool) -> Reply:
    """Kill an agent."""
    data: dict[str, Any] = {key: value for key, value in (("by", by), ("reason", reason)) if value is not None}
    if cascade:
        data["cascade"] = True
    command = stage.put_inert("agent_killed", stage.next_seq, data or None)
    stage.base = stage.base._replace(killed=stage.now)
    return stage.reply(command)


def revive(stage: Stage) -> Reply:
    """Revive a killed agent; for a live one, nothing is written."""
    if stage.base.alive:
        return stage.info()
    command = stage.put_inert("revived", stage.next_seq)
    stage.base = stage.base._replace(killed=None)
    return stage.info(command)


def create(stage: Stage, system: str | None) -> Reply:
    """Begin a new agent's log; a system prompt is part of its first state."""
    profile = stage.base
    command = stage.put_inert("created", stage.next_seq, _named(profile))
    if system:
        stage.put_rows(command, [CheckedRow(Row("system", system, None), None)])
    return stage.reply(command)


def _named(profile: Profile) -> dict[str, Any]:
    shown = {"name": profile.name, "title": profile.title, "tags": profile.tags or None}
    return {key: value for key, value in shown.items() if value is not None}


def clone_from(stage: Stage, source: str, at: int, tip: int | None, sent: int | None = None) -> int:
    """Put the event that takes over another agent's state, at its original time if it has one; return its seq."""
    origin = None if sent is None else Origin(sent)
    return stage.put("clone", stage.next_seq, data={"from": source, "at": at}, parent=tip, origin=origin)


def require_position(at: int, head: int, name: str) -> None:
    """Refuse a position that an agent has not reached."""
    if not 0 <= at <= head:
        raise InvalidParams(f"at: agent {name} has positions 0 to {head}, not {at}", field="at", head=head)


def redacted(stage: Stage, events: int, by: str, gone: Sequence[Sequence[int]] = ()) -> int:
    """Log that something was redacted, but not what; return the seq.

    Args:
        stage: the events.
        events: how many events have changed.
        by: how they were selected: ``seqs``, ``text`` or ``prune``.
        gone: the first and the last of positions at which a program has pruned what it kept there.
    """
    said = {"gone": [[*each] for each in gone]} if gone else {}
    return stage.put_inert("redacted", stage.next_seq, {"events": events, "by": by, **said})


def gone() -> NotFound:
    """Return the error for an agent that was purged meanwhile."""
    return NotFound("the agent was purged")


def not_found(address: str) -> NotFound:
    """Return the error for an address that no agent has."""
    return NotFound(f"no agent {address}; make one with create, or add with create", agent=address)
