"""The events of a stretch that are not rows: each says where the conversation goes, and is refused if it cannot."""

from collections.abc import Callable, Iterator
from typing import Any

from reel.base.errors import Exists, InvalidParams, ReelError
from reel.said.blocks import InvalidRecord
from reel.said.kinds import is_conversation_kind
from reeld.agents.executor import Target, Work
from reeld.core.conversation import Conversation
from reeld.core.events import Event
from reeld.core.path import Path, Turn
from reeld.core.stretch import Move
from reeld.core.tree import tip_after
from reeld.core.undo import UNDOABLE_KINDS, Command, command_of
from reeld.protocol import converters as to
from reeld.store import going_back, queries


class Moves:
    """Stages events that are not rows.

    Args:
        work: the attempt.
        target: the agent.
    """

    def __init__(self, work: Work, target: Target) -> None:
        self._work = work
        self._store = work.store
        self._target = target
        self._stage = target.stage
        # The head before all that is staged.
        self._begin = target.state.profile.head
        self._path = Path(target.state.conversation, target.stage.events)
        self._names: set[str] = set()

    @property
    def past(self) -> tuple[Iterator[Event], Conversation, int | None]:
        """The path so far: its staged events, the newest first, and the conversation and the tip before them."""
        self._path.follow()
        return self._path.back()

    async def put(self, move: Move) -> int:
        """Stage an event, and return its seq.

        Raises:
            InvalidRecord: the conversation cannot go there, or another agent has the name.
        """
        self._path.follow()
        fields = _Fields(move.data)
        tip: int | None
        data: dict[str, Any] | None
        match move.kind:
            case "rewind":
                tip, data = await self._rewound(fields)
            case "restore":
                tip, data = await self._restored(fields)
            case "clear":
                tip, data = None, None
            case _:
                return await self._put_in_place(move, fields)
        fields.end()
        turn = await self._turn_to(tip)
        self._target.turns[len(self._stage.events)] = turn
        return self._stage.put(move.kind, self._stage.next_seq, None, data, tip, move.origin)

    async def _put_in_place(self, move: Move, fields: "_Fields") -> int:
        """Stage an event that leaves the tip where it is, or at a mark."""
        stage, seq, origin = self._stage, self._stage.next_seq, move.origin
        if move.kind == "mark":
            label = fields.take("label", to.label)
            fields.end()
            return stage.put_mark(seq, label, origin)
        data = None
        if move.kind == "changed":
            data = await self._changed(fields)
        elif move.kind == "agent_killed":
            data = self._killed(fields)
        else:
            await self._revive()
        fields.end()
        self._target.is_changed = True
        return stage.put_inert(move.kind, seq, data, origin)

    async def _turn_to(self, tip: int | None) -> Turn:
        found = self._path.way_to(tip)
        if isinstance(found, Turn):
            return found
        committed, nodes = found
        past = await self._store.takeover(committed, self._path.committed)
        return self._path.turn(committed, nodes, past)

    # --- where it goes

    async def _rewound(self, fields: "_Fields") -> tuple[int | None, dict[str, Any]]:
        """Return the tip that a rewind goes to, and its data."""
        before = fields.take("before", to.integer(1))
        if before is not None:
            return await self._before(before), {"before": before}
        target, label = fields.take("target", to.integer(1)), fields.take("label", to.label)
        found = self._path.mark_for(label)
        if found is None:
            what = "a mark that something follows" if label is None else f"a mark {label}"
            raise InvalidRecord("data_json.label", f"the conversation has not {what} there")
        tip, seq = found
        if target not in (None, seq):
            raise InvalidRecord("data_json.target", f"the newest such mark is {seq} there, not {target}")
        if tip >= 0:
            try:
                await self._store.read_log(going_back.require_mark_there, self._target.row, tip)
            except InvalidParams as error:
                raise InvalidRecord("data_json.target", error.message) from None
        return tip, {"target": seq} if label is None else {"label": label, "target": seq}

    async def _before(self, seq: int) -> int | None:
        """Return the tip before the entry of the conversation with a seq."""
        number = seq - self._begin - 1
        if number >= 0:
            if self._path.has(number) and is_conversation_kind(self._stage.events[number].kind):
                return self._stage.events[number].parent
        elif (found := self._path.before(seq)) is not None:
            return found[0]
        elif (base := self._path.base) is not None and seq <= base.seq:
            before = await self._store.tip_before(base, seq)
            if before is not None:
                return before.tip
        raise InvalidRecord("data_json.before", f"{seq} is not in the conversation there")

    async def _restored(self, fields: "_Fields") -> tuple[int | None, dict[str, Any]]:
        """Return the tip that a restore goes to, and its data."""
        asked = fields.take("to", to.integer())
        undoes, redoes, undo = (fields.take(name, to.integer(1)) for name in ("undoes", "redoes", "undo"))
        why: dict[str, int] = {}
        goal = asked
        if undoes is not None:
            found = await self._read(queries.undo_target)
            if found != undoes:
                raise InvalidRecord("data_json.undoes", f"what an undo takes back is {found or 'nothing'} there")
            why, goal = {"undoes": undoes}, undoes - 1
        elif redoes is not None:
            redone = await self._read(queries.redo_target)
            if redone is None or redone.command != redoes or undo not in (None, redone.undo):
                is_there = "nothing" if redone is None else f"{redone.command}, of the undo {redone.undo},"
                raise InvalidRecord("data_json.redoes", f"what a redo brings back is {is_there} there")
            why, goal = {"redoes": redoes, "undo": redone.undo}, redoes
        if goal is None or not 0 <= goal <= self._stage.head:
            raise InvalidRecord("data_json.to", f"expected a seq from 0 to {self._stage.head}, got {goal}")
        at, tip = await self._position(goal)
        if asked is not None and asked not in (goal, at):
            raise InvalidRecord("data_json.to", f"that is {at} there, not {asked}")
        return tip, {"to": at if undoes is None else goal, **why}  # as the undo itself says it

    async def _position(self, seq: int) -> tuple[int, int | None]:
        """Return the end of the command that an event is in, and the tip there."""
        events, number = self._stage.events, seq - self._begin - 1
        if number < 0:
            try:
                return await self._store.read_log(going_back.goal, self._target.row, seq)
            except InvalidParams as error:
                raise InvalidRecord("data_json.to", error.message) from None
        while number + 1 < len(events) and events[number + 1].command == events[number].command:
            number += 1
        event = events[number]
        return event.seq, tip_after(~number, event.kind, event.parent)

    async def _read(self, target: Callable[..., Any]) -> Any:
        """Return what an undo or a redo would be about, with what is staged."""
        return await self._store.read_log(target, self._target.row, self._stage.head, self._newest_staged)

    def _newest_staged(self, at: int) -> Command | None:
        """Return the newest undoable command among what is staged, up to a seq."""
        events = self._stage.events
        for number in range(min(at - self._begin, len(events)) - 1, -1, -1):
            event = events[number]
            if event.kind in UNDOABLE_KINDS:
                return command_of(event.command, event.kind, event.data_json)
        return None

    # --- what the agent is called, and whether it lives

    async def _changed(self, fields: "_Fields") -> dict[str, Any]:
        stage = self._stage
        changes: dict[str, Any] = {}
        for name, convert in (("name", to.name), ("title", to.title), ("tags", to.tags)):
            is_removed = name == "title" and fields.has(name)  # null removes the title
            value = fields.take(name, convert)
            if value is not None or is_removed:
                changes[name] = value or None if name == "title" else value
        if not changes:
            raise InvalidRecord("data_json", "expected a name, a title or tags")
        if changes.get("name") not in (None, stage.base.name):
            await self._claim(changes["name"])
        stage.base = stage.base._replace(**changes)
        return changes

    def _killed(self, fields: "_Fields") -> dict[str, Any] | None:
        found = {
            "by": fields.take("by", to.string),
            "reason": fields.take("reason", to.title),
            "cascade": fields.take("cascade", to.boolean),
        }
        self._stage.base = self._stage.base._replace(killed=self._stage.now)
        return {name: value for name, value in found.items() if value is not None} or None

    async def _revive(self) -> None:
        await self._claim(self._stage.base.name)  # it was free meanwhile
        self._stage.base = self._stage.base._replace(killed=None)

    async def _claim(self, name: str) -> None:
        """Refuse a name that another agent has; one that the agent had before in the stretch is its own."""
        if name in self._names:
            return
        try:
            await self._work.claim(name, self._target.row)
        except Exists as error:
            raise InvalidRecord("data_json.name", error.message) from None
        self._names.add(name)


class _Fields:
    """The data of an event, whose fields are taken one after the other."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = dict(data)

    def has(self, name: str) -> bool:
        """Return whether there is such a field, even with null."""
        return name in self._data

    def take(self, name: str, convert: to.Convert) -> Any:
        """Return a field's value, ``None`` if there is none.

        Raises:
            InvalidRecord: it is not valid.
        """
        value = self._data.pop(name, None)
        if value is None:
            return None
        try:
            converted = convert(value)
        except ReelError as error:
            raise InvalidRecord(f"data_json.{name}", error.message) from None
        return converted.text if type(converted) is to.Free else converted

    def end(self) -> None:
        """Refuse what was not taken."""
        for name in self._data:
            raise InvalidRecord(f"data_json.{name}", "an event of this kind has no such field")
