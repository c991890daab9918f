"""The command ``add`` in its general form: rows that may be there already, that replace others, or for a new agent.

A plain add is a ``Write`` in its agent's mailbox instead.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from reel.base.errors import Conflict, InvalidMessage, InvalidParams, NotFound
from reel.base.light_typing import NamedTuple
from reeld.agents import many_rows
from reeld.agents.agent import Agent
from reeld.agents.executor import Command, Target, Work
from reeld.agents.registry import Registry
from reeld.core import commands, standing
from reeld.core.conversation import Conversation, Replacement
from reeld.core.events import Event
from reeld.core.rows import CheckedRow
from reeld.core.stage import NotInMemory, Reply, Stage
from reeld.core.superseding import LookBack, has_results
from reeld.core.validation import Altered, Expected
from reeld.store import going_back, history, positions, values
from reeld.store.store import Store

_NOTHING: Mapping[str, Any] = {}
# So many references and values are looked up at once, 3 us each.
_FEW = 32


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
        stands: the seq of the newest record that the rows answer; they are only added while it is in the conversation.
    """

    rows: list[CheckedRow]
    altered: Altered
    refs: Mapping[str, int]
    begin: int | None = None
    items: Sequence[int] | None = None
    expected: Sequence[Expected] = ()
    more: Mapping[str, Any] = _NOTHING
    stands: int | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it can share a transaction with other additions: it has few rows, and looks little up."""
        goes_back = self.begin is not None or self.stands is not None
        return not goes_back and self.looks_up <= _FEW and not many_rows.are_many(len(self.rows))

    @property
    def looks_up(self) -> int:
        """How many references and values have to be looked for in the log."""
        return len(self.refs) + len(self.expected)

    @property
    def keys(self) -> set[str]:
        """The keys of the values of which it expects something."""
        return {each.key for each in self.expected}

    @property
    def is_reply_usual(self) -> bool:
        """Whether the reply has no fields but those of any ``add``."""
        return self.items is None and not self.more

    def without(self, known: Mapping[int, int]) -> list[CheckedRow]:
        """Return the rows without the elements that are known, by their index."""
        if not known:
            return self.rows
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


def put_plain(store: Store, stage: Stage, added: Addition, command: int | None = None) -> Reply:
    """Stage a plain addition behind what is staged already.

    Args:
        store: has the agent's log.
        stage: what is staged.
        added: the addition.
        command: the seq of the command that it is part of, if that has begun already.

    Raises:
        NotInMemory: something has to be looked for in the log; nothing was staged.
        ReelError: it cannot be added there; nothing was staged.
    """
    require_as_expected(store, stage, added)
    return added.complete(commands.add(stage, stage.marked(added.rows), added.altered, command), {})


def require_as_expected(store: Store, stage: Stage, added: Addition) -> None:
    """Require that the values are those that a plain addition expects, and that none of its references is known.

    Args:
        store: has the agent's log.
        stage: what is staged.
        added: the addition.

    Raises:
        NotInMemory: a reference is staged, or in the agent's past, so that its row is left out; or this cannot be found
            out without awaiting it.
        Killed: the agent was killed.
        Conflict: it has other values.
    """
    if not added.looks_up:
        return
    stage.looked_up += added.looks_up
    if added.expected:
        stage.require_alive()
        seqs = store.at_once(values.seqs_of, stage.base.row, stage.base.head, added.keys)
        if seqs is None:
            raise NotInMemory
        _require_values(stage, added.expected, seqs)
    if added.refs:
        if not stage.refs.isdisjoint(added.refs) or store.at_once(history.known, stage.base.row, added.refs) != {}:
            raise NotInMemory
        stage.refs.update(added.refs)


async def those_known(store: Store, row: int, refs: Collection[str]) -> dict[str, int]:
    """Return the references that are in an agent's past, and the seq of each."""
    found = store.at_once(history.known, row, refs) if 0 < len(refs) <= _FEW else None
    if found is None:
        found = await store.read_log(history.known, row, refs) if refs else {}
    return found


async def add(work: Work, added: Addition, on_staged: Callable[[], None] = lambda: None) -> Reply:
    """Add rows to the agent.

    Args:
        work: has the agent.
        added: what is added.
        on_staged: called once the command can no longer be refused.
    """
    reply = await put(work.store, work.alone(), added)
    on_staged()
    return reply


def creating(
    registry: Registry, name: str, added: Addition, tags: dict[str, str] | None, on_staged: Callable[[int], None]
) -> Command:
    """Return the command that adds rows to an agent, which is created if it is missing.

    Args:
        registry: finds it.
        name: its name.
        added: what is added.
        tags: those of a new agent.
        on_staged: called with its row, if it exists, once the command can no longer be refused.
    """

    async def resolve() -> list[Agent]:
        try:
            return [await registry.find(name, alive=True)]
        except NotFound:
            return []

    async def stage(work: Work) -> Reply:
        if work.agents:
            return await add(work, added, partial(on_staged, work.agents[0].row))
        target = work.create(name, tags=tags)
        target.stage.require_head(work.options.if_seq)
        target.command = commands.create(target.stage, None)["command"]
        return await put(work.store, target, added)

    return Command(stage, resolve=resolve)


async def put(store: Store, target: Target, added: Addition) -> Reply:
    """Stage rows behind what is staged already; those whose reference is in the agent's past are left out.

    Args:
        store: has the agent's log.
        target: the agent.
        added: the rows.

    Raises:
        ReelError: they cannot be added there.
    """
    stage, state = target.stage, target.state
    if added.begin is not None and target.agent is None:
        name = stage.base.name
        raise NotFound(f"no agent {name}, and so no message {added.begin} to replace; add without from", agent=name)
    if added.begin is not None and stage.events:
        raise InvalidParams("from: only the first part of an agent may replace messages", field="from")
    if added.stands is not None and target.agent is not None and stage.events:
        raise InvalidParams("if_stands: only the first part of an agent may have it", field="if_stands")
    for ref, index in added.refs.items():
        if ref in target.refs:
            why = f"a part before has {ref!r} already; give each its own"
            raise InvalidMessage(f"messages[{index}].ref: {why}", index=index, field="ref")
    target.refs.update(added.refs)
    stage.require_alive()
    there = {}
    if target.agent is None:  # it has no past
        _require_values(stage, added.expected, {})
    else:
        if added.expected:
            seqs = await store.read_log(values.seqs_of, target.row, state.profile.head, added.keys)
            _require_values(stage, added.expected, seqs)
        found = await those_known(store, target.row, added.refs)
        there = {added.refs[ref]: seq for ref, seq in found.items()}
    rows, late = added.without(there), 0
    if added.stands is not None:
        late = await _passed(store, target, added.stands)
        rows = standing.behind(rows, late)
    known = [{"index": index, "seq": seq} for index, seq in sorted(there.items())]
    conversation = state.conversation
    if added.begin is None:
        rows = await marked(store, rows, reversed(stage.events), conversation, conversation.tip)
        put_rows = partial(commands.add, stage, rows, added.altered, target.command)
    else:
        tip = await _tip_before(store, target, added.begin, is_empty=not rows)
        past = await store.takeover(tip, conversation)
        target.take_over(past)
        before = past.conversation if isinstance(past, Replacement) else conversation
        rows = await marked(store, rows, (), before, tip)
        put_rows = partial(commands.replace, stage, state, added.begin, tip, past, rows, added.altered)
    reply = await many_rows.put(stage, len(rows), put_rows)
    wrote = bool(rows) or added.begin is not None
    reply = added.complete(commands.with_known(reply, known, wrote=wrote), there)
    if late:
        reply["late"] = late
    target.command = reply.get("command", target.command)
    return reply


async def marked(
    store: Store, rows: list[CheckedRow], staged: Iterable[Event], conversation: Conversation, tip: int | None
) -> list[CheckedRow]:
    """Return rows with the marks of later results; what is not in memory is read from the log.

    Args:
        store: has the log.
        rows: the rows.
        staged: the staged events before them, the newest first.
        conversation: what these are staged over; nothing of it may change meanwhile.
        tip: where in it they begin.
    """
    if not has_results(rows):
        return rows
    look = await many_rows.run(len(rows), partial(LookBack.over, rows, staged, conversation, tip))
    if look.base is not None:
        await store.look_back(look.base, look)
    return await many_rows.run(len(rows), look.marked)


async def _passed(store: Store, target: Target, seq: int) -> int:
    """Return how many messages came after what some rows answer.

    Args:
        store: has the agent's log.
        target: the agent.
        seq: the seq of the newest record that they answer; 0 if they answer an empty conversation.

    Raises:
        Conflict: it is not in the conversation any more, or the system prompt was changed since.
    """
    conversation, head, name = target.state.conversation, target.stage.head, target.stage.base.name
    if seq and not await _stands(store, target, seq):
        raise standing.gone(seq, head, name)
    standing.require_prompt(conversation, seq, head, name)
    return standing.passed(conversation, seq)


async def _stands(store: Store, target: Target, seq: int) -> bool:
    conversation = target.state.conversation
    entry, base = conversation.entry_at(seq), conversation.base
    if entry is None:
        return base is not None and seq <= base.seq and await store.tip_before(base, seq) is not None
    # What was cloned into the agent may have, at that seq, a message of another conversation.
    own = await store.read_log(positions.id_of, target.row, seq)
    return own is None or own == entry.id


def _require_values(stage: Stage, expected: Iterable[Expected], seqs: Mapping[str, int]) -> None:
    """Refuse rows whose expected values do not match the current ones.

    Args:
        stage: what is written before.
        expected: what they expect.
        seqs: the seq of each value that there is, by its key.

    Raises:
        Conflict: a value has changed since the expected seq; ``data`` has its current seq, or 0 if it is not set.
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


async def _tip_before(store: Store, target: Target, seq: int, *, is_empty: bool) -> int | None:
    """Return where a conversation goes back to if an entry is replaced; by nothing, it is a way back like an undo."""
    state = target.state
    conversation = state.conversation
    if is_empty:
        await store.read_log(going_back.require_there_before, target.row, seq)
    entry, base = conversation.entry_at(seq), conversation.base
    if entry is not None:
        return conversation.before(entry)
    found = await store.tip_before(base, seq) if base is not None and seq <= base.seq else None
    if found is None:
        raise commands.not_live(state, seq)
    return found.tip
