"""The command ``append``: a stretch of a log, whose events are staged one after the other and written in one commit.

Each command in it is what its own method would write: it goes where the conversation can go, and is undone by itself.
"""

from collections.abc import Mapping
from itertools import islice

from reel.said.blocks import InvalidRecord
from reeld.agents import adding, many_rows
from reeld.agents.executor import Target, Work
from reeld.agents.moves import Moves
from reeld.core.rows import CheckedRow
from reeld.core.stage import Reply
from reeld.core.stretch import Stretch, StretchCommand, refused
from reeld.store import queries
from reeld.store.store import Store

# The head of an agent that was just created.
_CREATED = 1


async def append(work: Work, stretch: Stretch) -> Reply:
    """Append a stretch of a log to the agent.

    Raises:
        InvalidMessage: an event cannot be there; ``data`` has ``index`` and ``field``.
    """
    return await put(work, work.alone(), stretch)


async def put(work: Work, target: Target, stretch: Stretch) -> Reply:
    """Stage a stretch behind what the command writes to the agent before it."""
    first, before = target.stage.next_seq, len(target.stage.events)
    await _require_new(work.store, target, stretch.refs)
    staging = _Staging(work, target)
    for command in stretch.commands:
        await staging.put(command)
    await staging.put_waiting()
    await _check_parents(work.store, target, before, stretch.parents)
    return target.stage.reply(first, first=first, **stretch.altered.as_map())


async def _require_new(store: Store, target: Target, refs: Mapping[str, int]) -> None:
    """Refuse events whose reference is in the agent's past, or in a part of the command before them."""
    if twice := next((ref for ref in refs if ref in target.refs), None):
        raise refused(refs[twice], "ref", f"an earlier part has {twice!r} already; give each its own")
    target.refs.update(refs)
    # One that was just created, as most that are imported, has no event with a reference.
    has_past = target.agent is not None and target.state.profile.head > _CREATED
    found = await adding.those_known(store, target.row, refs) if has_past else {}
    if found:
        ref, seq = min(found.items(), key=lambda known: refs[known[0]])
        raise refused(refs[ref], "ref", f"event {seq} has {ref!r} already; leave out what is there")


async def _check_parents(store: Store, target: Target, before: int, parents: Mapping[int, int]) -> None:
    """Refuse events that name another parent than the conversation gives them; so many are staged before them."""
    events = target.stage.events
    staged = {index: events[before + index].parent for index in parents}
    committed = [parent for parent in staged.values() if parent is not None and parent >= 0]
    seqs = await store.read(queries.seqs_by_id, committed) if committed else {}
    for index, parent in staged.items():
        seq = 0 if parent is None else events[~parent].seq if parent < 0 else seqs.get(parent)
        if seq != parents[index]:
            where = f"the conversation is at {seq}" if seq else "the conversation is empty"
            raise refused(index, "parent", f"{where} there, not at {parents[index]}")


class _Staging:
    """Stages the commands of a stretch.

    Args:
        work: the attempt.
        target: the agent.
    """

    def __init__(self, work: Work, target: Target) -> None:
        self._store = work.store
        self._stage = target.stage
        self._moves = Moves(work, target)
        # Rows that are not staged yet, and the seq of the command that each group belongs to, if it has begun.
        self._waiting: list[tuple[int | None, list[CheckedRow]]] = []

    async def put(self, command: StretchCommand) -> None:
        """Stage a command; rows wait until the next one that is not a row, or the end."""
        begun = None
        if command.move is not None:
            await self.put_waiting()
            self._require_alive(command)
            try:
                begun = await self._moves.put(command.move)
            except InvalidRecord as error:
                raise refused(command.first, error.field, error.reason) from None
        elif not self._stage.base.alive:
            self._require_alive(command)
        if command.rows:
            self._waiting.append((begun, command.rows))

    async def put_waiting(self) -> None:
        """Stage the rows that wait; many of them in a thread."""
        waiting, self._waiting = self._waiting, []
        stage = self._stage
        rows = [row for _, rows in waiting for row in rows]
        marked = iter(await adding.marked(self._store, rows, *self._moves.past))

        def put_rows() -> Reply:
            for command, own in waiting:
                stage.put_rows(command or stage.next_seq, islice(marked, len(own)))
            return {}

        await many_rows.put(stage, len(rows), put_rows)

    def _require_alive(self, command: StretchCommand) -> None:
        """Refuse a command of a killed agent, and the revival of one that is alive."""
        is_revival = command.move is not None and command.move.kind == "revived"
        if self._stage.base.alive != is_revival:
            return
        if not command.first and not is_revival:
            self._stage.require_alive()
        raise refused(command.first, "kind", f"the agent is {'alive' if is_revival else 'killed'} there")
