"""Reading states from a log, through its milestones.

This module has the rules; :class:`Log` is the interface that a storage engine implements. ``reeld.store.states``
implements it on SQL, and the tests on a list.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from operator import attrgetter
from typing import Protocol

from reel.base.light_typing import NamedTuple
from reeld.core.conversation import Branch, Conversation, Replacement, Takeover
from reeld.core.events import Entry, Node
from reeld.core.milestones import STEP, Extent, Foundation, Milestone, Waypoint

# The fewest entries of a conversation that are read into memory, if it has as many.
LEAST_READ = 100
# Walking past more nodes than this means that milestones are missing: they are recomputed from the root on.
_FAR = 20


class Before(NamedTuple):
    """The tip of the state before an entry; ``None`` if the entry is the first node."""

    tip: int | None


class Log(Protocol):
    """Read access to a log."""

    def path(self, tip: int) -> Iterator[tuple[Node, bool]]:
        """Yield the nodes from a tip to the root, the newest first, and whether each has a milestone."""

    def ids(self, tip: int) -> Iterator[int]:
        """Yield the ids of what :meth:`path` yields."""

    def nodes(self, ids: Sequence[int]) -> list[Node]:
        """Return nodes by their ascending ids."""

    def milestone(self, node_id: int) -> Milestone | None:
        """Return the milestone at a node; ``None`` if it is missing or cannot be read."""

    def chain(self, node_id: int) -> Iterator[Waypoint]:
        """Yield where the milestone at a node is, and those before it; end before one that cannot be read."""


class Reader:
    """Reads states from a log.

    Args:
        log: the log.
        step: how many nodes there are from one milestone to the next.
        least: the fewest entries that are read into memory.
    """

    def __init__(self, log: Log, step: int = STEP, least: int = LEAST_READ) -> None:
        self._log = log
        self._step = step
        self._least = least

    def state(self, tip: int | None, near: Conversation | None = None) -> tuple[Conversation, list[Milestone]]:
        """Return the state with this tip, its newest entries in memory, and the milestones that the log lacks.

        Args:
            tip: the tip.
            near: another state that was read from the log; the common part is taken from it.
        """
        nodes: list[Node] = []
        known: set[int] = set()
        shared = foundation = None
        for node, has_milestone in () if tip is None else self._log.path(tip):
            if near is not None and near.has(node.id):
                shared = near.prefix(node.id)
                if shared.base is None or len(shared.entries) + len(nodes) >= self._least:
                    break
                shared = near = None  # it has too little in memory
            if has_milestone:
                known.add(node.id)
                if len(nodes) >= self._least and (foundation := self._foundation(node.id)) is not None:
                    break
            nodes.append(node)
            if len(nodes) > _FAR * self._step:
                return self.rebuild(tip)
        conversation = shared or Conversation(foundation=foundation, step=self._step)
        for node in reversed(nodes):
            conversation.append(node)
        return conversation, [made for made in conversation.take_new_milestones() if made.id not in known]

    def _foundation(self, node_id: int) -> Foundation | None:
        """Return the foundation up to a node; ``None`` if a milestone for it cannot be read."""
        milestone = self._log.milestone(node_id)
        if milestone is None:
            return None
        marked = [milestone]
        while marked[-1].marked is not None:
            earlier = self._log.milestone(marked[-1].marked)
            if earlier is None or earlier.id >= marked[-1].id:
                return None
            marked.append(earlier)
        marks = [mark for at in reversed(marked) for mark in at.marks]
        prompts = [] if milestone.prompt is None else self._log.nodes([milestone.prompt])
        prompt = prompts[0] if prompts and isinstance(prompts[0], Entry) else None
        return Foundation(milestone, marks, prompt)

    def rebuild(self, tip: int | None) -> tuple[Conversation, list[Milestone]]:
        """Return a state and all its milestones, computed from the log alone, with few entries in memory at a time."""
        conversation, made = Conversation(step=self._step), []
        for node in self.whole(tip):
            conversation.append(node)
            if len(conversation.entries) > self._least + 2 * self._step:
                made += conversation.take_new_milestones()
                conversation.trim(self._least)
        return conversation, made + conversation.take_new_milestones()

    def newest(self, tip: int, size: int) -> Conversation:
        """Return the state with this tip, so many of its newest entries in memory that their messages have a size.

        Args:
            tip: the tip.
            size: in bytes; if all messages have less, all entries are in memory.
        """
        nodes: list[Node] = []
        foundation, since = None, 0
        for node, has_milestone in self._log.path(tip):
            if has_milestone and size <= 0 and (foundation := self._foundation(node.id)) is not None:
                break
            since = 0 if has_milestone else since + 1
            if since > _FAR * self._step:  # milestones are missing
                return Conversation(self.whole(tip), step=self._step)
            nodes.append(node)
            if isinstance(node, Entry) and node.message is not None:
                size -= len(node.message)
        return Conversation(reversed(nodes), foundation, step=self._step)

    def whole(self, tip: int | None) -> Iterator[Node]:
        """Yield all nodes of the state with this tip, the oldest first, without having all in memory at once."""
        ids = array("q", () if tip is None else self._log.ids(tip))
        ids.reverse()
        yield from self._batches(ids)

    def recomputed(self, milestone: Milestone) -> Milestone | None:
        """Recompute a milestone from the one before it; ``None`` if that is not on the path."""
        foundation = None
        if milestone.previous is not None:
            foundation = self._foundation(milestone.previous)
            if foundation is None:
                return None
        nodes = []
        for node, _ in self._log.path(milestone.id):
            if node.id == milestone.previous:
                break
            nodes.append(node)
        else:
            if milestone.previous is not None:
                return None
        conversation = Conversation(reversed(nodes), foundation, step=len(nodes) + 1)
        return conversation.sum_up(conversation.entries[-1]) if conversation.entries else None

    def before(self, base: Milestone, seq: int) -> Before | None:
        """Return the state before the entry with this seq; ``None`` if none has it up to a milestone."""
        upper = base.id
        for at in self._log.chain(base.id):
            if at.seq < seq:
                break
            upper = at.id
        found = False
        for node, _ in self._log.path(upper):
            if found:
                return Before(node.id)
            if node.seq < seq:
                return None
            found = node.seq == seq and isinstance(node, Entry)
        return Before(None) if found else None

    def takeover(self, tip: int | None, conversation: Conversation) -> Takeover:
        """Return how a conversation, which must not change meanwhile, takes over the state with this tip.

        The cost is proportional to the difference: nothing if the state is a prefix of what is in memory.
        """
        if conversation.has(tip):
            return Branch(tip)
        assert tip is not None  # noqa: S101 - every conversation has the empty state
        if conversation.tip is None:
            return Replacement(self.state(tip)[0], Extent(0, 0))
        ids = array("q")
        for node_id in self._log.ids(tip):
            if conversation.has(node_id):
                return Branch(node_id, self._log.nodes(ids[::-1]))
            if len(ids) >= self._least:
                break
            ids.append(node_id)
        else:
            if conversation.base is None:
                return Branch(None, self._log.nodes(ids[::-1]))
        state, _ = self.state(tip)
        return Replacement(state, self._shared(conversation, state))

    def _shared(self, one: Conversation, other: Conversation) -> Extent:
        """Return the length of the common prefix of two states.

        A milestone of the one is common if it is on the path of the other. After the last common one the nodes are
        compared. The other state may have its milestones at other nodes, so a common one need not be a milestone of
        both.
        """
        mine, others = self._waypoints(one), self._waypoints(other)
        of_one, of_other = [next(mine)], [next(others)]
        # The way is down on whichever side is higher; both end with the root, so they meet there at the latest.
        while of_one[-1].id != of_other[-1].id:
            if of_one[-1].id > of_other[-1].id:
                of_one.append(next(mine))
            else:
                of_other.append(next(others))
        # The waypoints of the other that are left come after the common one; the two states part before one of them.
        common = of_other.pop()
        for after in reversed(of_other):
            ids = self._ids_between(other, of_other, common.id, after.id)
            # Not after the common one: the path of the one may have a million nodes from there to the first of these.
            known = set(self._ids_between(one, of_one, ids[0] - 1, after.id)) if ids else ()
            shared = [node_id for node_id in ids if node_id in known]
            if len(shared) < len(ids):
                return _longer(common.extent, self._batches(shared))
            common = after
        return common.extent

    def _waypoints(self, state: Conversation) -> Iterator[Waypoint]:
        """Yield the known waypoints of a state, the newest first: tip, milestones, and the root."""
        yield Waypoint(state.tip or 0, 0, state.extent)
        for milestone in reversed(state.milestones):
            yield milestone.waypoint
        if state.base is not None:
            yield state.base.waypoint
            if state.base.previous is not None:
                yield from self._log.chain(state.base.previous)
        yield Waypoint(0, 0, Extent(0, 0))

    def _ids_between(self, state: Conversation, waypoints: Sequence[Waypoint], after: int, upto: int) -> list[int]:
        """Return the ids of a state's path after a node, up to another, the oldest first.

        Ids that are not in memory are read from the nearest waypoint backwards.
        """
        if state.base is None or state.base.id <= after:
            return sorted(_ids_in(state.entries, after, upto) + _ids_in(state.marks, after, upto))
        begin = min((at.id for at in waypoints if at.id >= upto), default=max((at.id for at in waypoints), default=0))
        down = takewhile(lambda node_id: node_id > after, self._log.ids(begin) if begin else ())
        return [node_id for node_id in down if node_id <= upto][::-1]

    def _segment(self, tip: int, after: int, since: int) -> list[Entry]:
        """Return the entries of a path from after a node up to another, the oldest first; only those after a seq."""
        entries, is_earlier = [], False
        for node, _ in self._log.path(tip):
            if node.id <= after:
                break
            if node.seq > since:
                if isinstance(node, Entry):
                    entries.append(node)
            elif is_earlier:  # the seq of one may be damaged
                break
            else:
                is_earlier = True
        return entries[::-1]

    def entries(
        self, base: Milestone, since: int, last: int | None, counts: Callable[[Entry], bool]
    ) -> Iterator[Entry]:
        """Yield the entries up to a milestone, the oldest first, reading lazily.

        Args:
            base: the milestone.
            since: only entries with a greater seq.
            last: only the newest ones, so that this many count; ``None`` for all.
            counts: whether an entry counts.
        """
        if last is not None:
            yield from self._newest(base, since, last, counts)
            return
        upto: list[int] = [base.id] if base.seq > since else []
        lower = 0 if upto else base.id
        for at in self._log.chain(base.previous) if upto and base.previous is not None else ():
            if at.seq <= since:
                lower = at.id
                break
            upto.append(at.id)
        for upper in reversed(upto):
            yield from self._segment(upper, lower, since)
            lower = upper

    def _newest(self, base: Milestone, since: int, last: int, counts: Callable[[Entry], bool]) -> Iterator[Entry]:
        ids = array("q")
        for node, _ in self._log.path(base.id):
            if not last or node.seq <= since:
                break
            if isinstance(node, Entry):
                ids.append(node.id)
                last -= counts(node)
        ids.reverse()
        for node in self._batches(ids):
            assert isinstance(node, Entry)  # noqa: S101 - only entries were noted
            yield node

    def _batches(self, ids: Sequence[int]) -> Iterator[Node]:
        for first in range(0, len(ids), self._step):
            yield from self._log.nodes(ids[first : first + self._step])


def _ids_in(nodes: Sequence[Node], after: int, upto: int) -> list[int]:
    """Return the ids of nodes after one, up to another."""
    begin, end = (bisect_right(nodes, place, key=attrgetter("id")) for place in (after, upto))
    return [node.id for node in nodes[begin:end]]


def _longer(extent: Extent, nodes: Iterable[Node]) -> Extent:
    """Return the length after some more nodes."""
    records, messages = extent
    for node in nodes:
        if isinstance(node, Entry):
            records += 1
            messages += node.message is not None
    return Extent(records, messages)
