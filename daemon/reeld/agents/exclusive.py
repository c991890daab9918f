"""Commands that need an agent to themselves.

They have to look something up in the log before they know what to write, or they move the tip other than forward. A
command on one agent runs in an ``Exclusive`` job of that agent. A clone into another agent locks both;
:mod:`reeld.agents.families` has the commands on an agent and all its clones.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from reel.errors import Conflict, InvalidMessage, InvalidParams, NothingToUndo
from reeld.agents import many_rows
from reeld.agents.agent import Agent
from reeld.agents.idempotency import CommandOptions, first_reply
from reeld.agents.registry import Registry
from reeld.core import commands
from reeld.core.commands import Reply, Stage, require_position
from reeld.core.conversation import Conversation, Replacement, Takeover
from reeld.core.state import Profile, State, info
from reeld.core.validation import Altered, CheckedRow, Expected
from reeld.store.states import Position, Skip
from reeld.store.store import Store

_NOTHING: Mapping[str, Any] = {}


async def clear(agent: Agent, options: CommandOptions) -> Reply:
    """Empty the conversation except for its system prompt."""
    stage = agent.stage(options)
    return await agent.commit(stage, commands.clear(stage, agent.committed), options)


async def rewind(agent: Agent, options: CommandOptions, label: str | None) -> Reply:
    """Go back to a mark."""
    stage = agent.stage(options)
    target = commands.rewind_target(stage, agent.committed, label)
    past = await agent.store.takeover(target.id, agent.committed.conversation)
    reply = commands.rewind(stage, agent.committed, label, past.kept if isinstance(past, Replacement) else None)
    return await agent.commit(stage, reply, options, past)


class Addition(NamedTuple):
    """What an ``add`` is to write.

    Args:
        rows: the rows.
        altered: how much of the messages was altered.
        refs: the index of each row that has a reference.
        expected: what is expected of values that are replaced.
        begin: the seq of the entry from which on the rows replace the conversation, if they do; there may be no rows.
        items: for each row, the number of the element of the request that it is part of, if elements may be several
            rows; the index of a reference is then that of its element.
        more: further fields of the reply.
    """

    rows: list[CheckedRow]
    altered: Altered
    refs: Mapping[str, int]
    begin: int | None = None
    items: Sequence[int] | None = None
    expected: Sequence[Expected] = ()
    more: Mapping[str, Any] = _NOTHING

    @property
    def is_plain(self) -> bool:
        """Whether it can share a transaction with other additions: it has few rows, and needs no look-up."""
        return not self.refs and not self.expected and self.begin is None and not many_rows.are_many(self.rows)

    def without(self, known: Mapping[int, int]) -> list[CheckedRow]:
        """Return the rows without the elements that are known, by their index."""
        numbers = range(len(self.rows)) if self.items is None else self.items
        return [row for row, number in zip(self.rows, numbers, strict=True) if number not in known]

    def complete(self, reply: Reply, known: Mapping[int, int]) -> Reply:
        """Return the complete reply, with the seq of each element if elements may be several rows."""
        reply = {**reply, **self.more}
        if self.items is None:
            return reply
        seqs = dict(known)
        added = (number for number in self.items if number not in known)
        for seq, number in enumerate(added, reply["first"]):
            seqs.setdefault(number, seq)
        return {**reply, "seqs": [seqs[number] for number in sorted(seqs)]}


async def add(
    agent: Agent, options: CommandOptions, added: Addition, on_staged: Callable[[], None] = lambda: None
) -> Reply:
    """Add rows, some of which may be there already, or replace the conversation from an entry on.

    A row whose reference is in the agent's past is left out, and the reply lists it.

    Args:
        agent: whose conversation it is.
        options: the command's.
        added: what is added.
        on_staged: called once the command can no longer be refused.

    Raises:
        InvalidParams: no entry of the current conversation has the seq ``begin``.
    """
    stage = agent.stage(options)
    reply, past = await stage_rows(agent.store, agent.committed, stage, added)
    if not stage.events:
        reply = await first_reply(agent.store, options.key) or reply
    on_staged()
    return await agent.commit(stage, reply, options, past) if stage.events else reply


async def stage_rows(
    store: Store, state: State, stage: Stage, added: Addition, command: int | None = None
) -> tuple[Reply, Takeover | None]:
    """Stage rows that may be there already, or that replace the conversation; see :func:`add`.

    Args:
        store: has the agent's log.
        state: the committed state.
        stage: takes the events; if the rows replace others, it must be empty.
        added: what is added.
        command: the seq of the command that the rows belong to, if it has begun already.

    Returns:
        the reply, and the state that is taken over, if it is not in memory.
    """
    stage.require_alive()
    if added.expected:
        profile = state.profile
        keys = {each.key for each in added.expected}
        require_values(stage, added.expected, await store.seqs_of_values(profile.row, profile.head, keys))
    found = await store.known(state.profile.row, added.refs) if added.refs else {}
    there = {added.refs[ref]: seq for ref, seq in found.items()}
    rows = added.without(there)
    known = [{"index": index, "seq": seq} for index, seq in sorted(there.items())]
    past: Takeover | None = None
    if added.begin is None:
        put = partial(commands.add, stage, rows, added.altered, command)
    else:
        tip = await _tip_before(store, state, added.begin)
        past = await store.takeover(tip, state.conversation)
        put = partial(commands.replace, stage, state, added.begin, tip, past, rows, added.altered)
    reply = await many_rows.put(stage, rows, put)
    wrote = bool(rows) or added.begin is not None
    return added.complete(commands.with_known(reply, known, wrote=wrote), there), past


def require_values(stage: Stage, expected: Iterable[Expected], seqs: Mapping[str, int]) -> None:
    """Refuse rows whose expected values do not match the current ones.

    Args:
        stage: what is written before.
        expected: what they expect.
        seqs: the seq of each value that there is, by its key.

    Raises:
        Conflict: a value was set meanwhile; ``data`` has its seq, 0 if there is none.
    """
    staged = {event.content: event.seq if event.data_json else 0 for event in stage.events if event.kind == "state"}
    for key, seq, index in expected:
        there = staged.get(key, seqs.get(key, 0))
        if there != seq:
            wanted = f"not at #{seq}" if seq else "and should have none"
            what = f"was set at #{there}, {wanted}" if there else f"has no value, and should have that of #{seq}"
            raise Conflict(
                f"messages[{index}]: the state {key} of agent {stage.base.name} {what}; read it and retry",
                index=index,
                key=key,
                seq=there,
                head=stage.head,
            )


async def _tip_before(store: Store, state: State, seq: int) -> int | None:
    conversation = state.conversation
    entry, base = conversation.entry_at(seq), conversation.base
    if entry is not None:
        return conversation.before(entry)
    found = await store.tip_before(base, seq) if base is not None and seq <= base.seq else None
    if found is None:
        raise commands.not_live(state, seq)
    return found.tip


async def restore(agent: Agent, options: CommandOptions, at: int) -> Reply:
    """Make the conversation what it was at a seq."""
    stage = agent.stage(options)
    stage.require_alive()
    require_position(at, stage.head, stage.base.name)
    return await _go_back(agent, stage, options, await agent.store.position(agent.row, at))


async def undo(agent: Agent, options: CommandOptions) -> Reply:
    """Undo the newest command."""
    stage = agent.stage(options)
    stage.require_alive()
    target = await agent.store.undo_target(agent.row, stage.head)
    if target is None:
        raise NothingToUndo(f"agent {stage.base.name} has nothing to undo: it is in its first state")
    before = await agent.store.position(agent.row, target - 1)
    return await _go_back(agent, stage, options, before._replace(at=target - 1), undoes=target)


async def redo(agent: Agent, options: CommandOptions) -> Reply:
    """Redo what the newest undo took back."""
    stage = agent.stage(options)
    stage.require_alive()
    target = await agent.store.redo_target(agent.row, stage.head)
    if target is None:
        raise NothingToUndo(f"agent {stage.base.name} has nothing to redo")
    end = await agent.store.position(agent.row, target.command)
    return await _go_back(agent, stage, options, end, redoes=target.command, undo=target.undo)


async def _go_back(agent: Agent, stage: Stage, options: CommandOptions, to: Position, **why: int) -> Reply:
    reply = commands.restore(stage, to.at, to.tip, **why)
    if "undoes" in why:
        reply["undone"] = why["undoes"]
    if "redoes" in why:
        reply["redone"] = why["redoes"]
    past = await agent.store.takeover(to.tip, agent.committed.conversation)
    return await agent.commit(stage, reply, options, past)


async def change(
    agent: Agent, options: CommandOptions, name: str | None, title: str | None, tags: dict[str, str] | None
) -> Reply:
    """Change an agent's name, title or tags."""
    stage = agent.stage(options)
    reply = commands.change(stage, name, title, tags)
    return await agent.commit(stage, reply, options, changed=True)


async def state_at(source: Agent, at: int | None) -> tuple[Position, Conversation]:
    """Return an agent's position and conversation at a seq, or at its head if ``at`` is ``None``."""
    state = source.committed
    if at is None or at == state.profile.head:
        return Position(state.profile.head, state.conversation.tip), state.conversation
    require_position(at, state.profile.head, state.profile.name)
    position = await source.store.position(source.row, at)
    return position, await source.store.state(position.tip)


async def clone_into(
    registry: Registry, options: CommandOptions, source: Agent, target: Agent, at: int | None
) -> Reply:
    """Replace the state of an agent with that of another; both are locked."""
    if source.row == target.row:
        raise InvalidParams("into: an agent cannot be cloned into itself; use restore", field="into")
    async with registry.lock([source, target]) as locked:
        source, target = locked
        stage = target.stage(options)
        stage.require_alive()
        position, conversation = await state_at(source, at)
        stage.head = max(stage.head, position.at)
        command = commands.clone_from(stage, source.committed.profile.uid, position.at, position.tip)
        reply = {**info(stage.profile, conversation), "command": command, "time": stage.now}
        past = await target.store.takeover(position.tip, target.committed.conversation)
        return await target.commit(stage, reply, options, past, reads=frozenset([source.row]))


class Replayed(NamedTuple):
    """What a replay found: the profile, the log's conversation, and whether the live one matched it."""

    profile: Profile
    conversation: Conversation
    skipped: list[Skip]
    matched: bool


async def replay(agent: Agent, *, strict: bool) -> Replayed:
    """Compare the live state with the log, and replace it if they differ."""
    state = agent.committed
    rebuilt = await agent.store.rebuild(agent.row)
    skipped = rebuilt.skipped + await agent.store.unknown_kinds(agent.row, state.profile.head)
    if strict:
        require_sound(skipped)
    matched = rebuilt.conversation == state.conversation
    if not matched:
        agent.repair_from_log(rebuilt.conversation.copy())
    return Replayed(state.profile, rebuilt.conversation, skipped, matched)


def require_sound(skipped: list[Skip]) -> None:
    """Refuse a log in which some events cannot be read.

    Raises:
        InvalidMessage: names the first of them.
    """
    for skip in sorted(skipped):
        raise InvalidMessage(f"seq {skip.seq}: {skip.field}: {skip.reason}", seq=skip.seq, field=skip.field)
