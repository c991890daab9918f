"""Steps of one conversation, as commands to the daemon.

Every message has its place after a particular other one, whatever happened between them. So going back, compacting, and
continuing an existing conversation are the same operation: the next message is added after its predecessor, and
replaces what follows that. All of it remains in the log.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reel import requests
from reel.base.errors import ReelError
from reel.base.strict_json import Json, encode
from reel.importing.adding.agents import SOURCE
from reel.importing.adding.left_behind import LeftBehind, pieces_of
from reel.importing.adding.log import Log, ref_for
from reel.importing.adding.pipeline import Commands
from reel.importing.adding.recognition import Recognition
from reel.importing.adding.redactions import Redactions
from reel.importing.adding.target import Target
from reel.importing.adding.usages import replacing
from reel.importing.adding.writer import Writer
from reel.importing.id_tables import IdMap
from reel.importing.steps import About, Back, Compacted, Kept, Middle, Part, Said, Source, Step

# How many messages before the first answer are said again after a prompt that was found after them.
_OPENING = 100


class Conversation:
    """Adds the steps of a conversation.

    Args:
        pipeline: the connection.
        source: the source of the steps.
        name: the conversation's name at its source.
        target: the destination of the steps.
        careful: wait for each reply, so that only a refused message is left out, not those after it.
    """

    def __init__(self, pipeline: Commands, source: Source, name: str, target: Target, *, careful: bool = False) -> None:
        self.name = name
        self._target = target
        self.writer = Writer(pipeline, source, name, target, careful=careful)
        self.redactions = Redactions(pipeline, target)
        # How many messages were there already.
        self.known = 0
        # The lines of messages that say something else than when they were imported.
        self.changed: list[int] = []
        # The places of messages that are in the log under another id: parts of messages, and copies beside a summary.
        self._places = IdMap()
        self._left = LeftBehind()
        # The message at which the agent was cloned from another one.
        self._cloned = 0
        self._recognition = Recognition(self.writer, target)
        # The message after which the next one comes, and the prompt at the beginning, which keeps its place.
        self._at: int | None = None
        # The head of the log before anything was added.
        self._had = target.log.head if target.row else 0
        # The place to keep, if a newer source decides where the conversation continues.
        self._stays_at = target.log.tip if target.row and source.has_newer else None
        self._base: int | None = None
        # A prompt for the beginning of a log that is not there yet, or has other messages there: it comes before the
        # next new one.
        self._late: Said | None = None
        # The messages that were read before any answer; ``None`` once there is one.
        self._opening: list[Said] | None = []
        # The ref of the newest summary; empty before the first compaction.
        self._summary = ""
        # The id of the newest answer that was read.
        self._answer = ""
        # The newest prompt that was read.
        self._prompt: Said | None = None
        # The newest message that was read, and the time of the last one: a fork of it is no newer.
        self._newest = 0
        self._sent: int | None = None
        # Records for the log only that came before the agent existed.
        self._early: list[Kept] = []

    @property
    def log(self) -> Log:
        """The current contents of the agent's log."""
        return self.writer.log

    def go_on(self, base: int | None, places: Mapping[str, int]) -> None:
        """Continue at the end of an existing conversation.

        Args:
            base: the prompt at its beginning, if it has one.
            places: the places of messages that are not in the log, or not live, under their ids.
        """
        self._at, self._base = self.log.tip, base
        self._had = 0  # who goes on knows where
        for ref, place in places.items():
            self._places[ref] = place

    def count_earlier(self, other: "Conversation") -> None:
        """Count what another reading of the same source has done, up to what was refused."""
        self.writer.count_earlier(other.writer)
        self.known = other.known

    def take(self, step: Step) -> None:
        """Process the next step; none after something was refused."""
        self._unless_it_failed(self._take, step)

    def _unless_it_failed(self, go_on: Callable[..., None], *given: Step) -> None:
        """Go on, unless something that was sent was refused: then the log is not what is known of it."""
        if self.writer.failure is None:
            try:
                go_on(*given)
            except ReelError as error:
                if error is not self.writer.failure:
                    raise

    def _take(self, step: Step) -> None:
        match step:
            case Said():
                self._say(step)
            case Kept():
                self._keep(step)
            case About():
                self.writer.describing.take(step)
            case Back():
                self._opening = None
                self._at = self._end_of(step.to) if step.to else self._base
            case Middle():
                self._opening = None
                self._at = self._end_of(step.after, self.log.tip)
            case Compacted():
                self._opening = None
                self._compact(step)

    def _end_of(self, ref: str, unknown: int | None = None) -> int | None:
        """Return the last message at what has a source's id; ``unknown`` if nothing has it."""
        place = self._places.get(ref) or self.log.place_of(ref)
        if place is None:
            return unknown
        return place if self.log.is_message(place) else self.log.state_with(place)[1]

    def finish(self) -> None:
        """Send the remaining messages, and set the title and the tags."""
        self._unless_it_failed(self._finish)

    def _finish(self) -> None:
        if self._target.is_fork and self._at is not None:
            self._begin()
        self._move()
        self.writer.flush()
        if self.writer.made or (self._is_newest and not self._is_copy and self._stays_at is None):
            self.writer.describe()

    def _say(self, said: Said) -> None:
        if said.role != "system":
            self._read(said)
        elif self._is_noted(said.parts[-1]):
            self.known += 1
        elif self._takes_prompt(prompt := self._prompt_in_log(said)):
            self._read(prompt)

    def _prompt_in_log(self, prompt: Said) -> Said:
        """Return a prompt with the id that it has in the log, if the conversation begins there with the same words.

        A tool may write it again under another id, which counts the next time.
        """
        ref = prompt.parts[-1].ref
        if self._at is not None or self._place_of(ref) is not None or not self._had:
            return prompt
        place, named = self._recognition.prompt(prompt, self.log.following(None, self._had))
        if place is not None:
            self._places[ref] = place
        return named

    def _takes_prompt(self, prompt: Said) -> bool:
        """Return whether a prompt has its place here and now; one that is there stays where it is."""
        place = self._place_of(prompt.parts[-1].ref)
        if self._late is not None and self._late.parts == prompt.parts:
            self._add_late()
            return False
        is_first = place is None and self._at is None
        # Of a prompt alone no agent is made: a session that was opened and left has nothing else.
        is_late = is_first and (not self.writer.agent or self.log.after(None) is not None)
        self._late = prompt if is_late else None
        return not is_late and (place is None or place != self._base)

    def _read(self, said: Said) -> None:
        said = self._recognition.named(said)
        kept = self._kept(said)
        self._read_as(kept)
        if kept is not said:
            for part in said.parts:
                self._places[part.ref] = self._at or 0

    def _read_as(self, said: Said) -> None:
        """Read a message with the ids that it has in the log."""
        begins = said.role == "system" and self._at == self._base
        if said.role == "system":
            self._prompt = said
        at = self._at
        known, rest = self._known_parts(said.parts)
        if known is not None and not self.log.is_message(known):
            self._at = at
            self._read_rest(said)
            return
        had = self._had_after() if rest and said.role != "system" else []
        if known is None and not had:  # as nearly all that is new
            place = self._add(said, said.parts, at)
            if place is not None:
                for part in said.parts[:-1]:
                    self._places[part.ref] = place
        else:
            place = self._find(said, known, rest, had, at)
        self._sent = said.sent or self._sent
        if place is None:
            return
        if begins and self.log.before(place) == self._base:
            if self._opening == []:  # messages that an import saw before the prompt
                self._left.add(self.log.following(self._base, place - 1), said.parts[-1].ref)
            self._base = place
        if self._opening is not None:
            self._note_opening(said, self._opening)
        if said.role == "assistant":
            self._answer = said.parts[-1].ref
        self._go_to(place)

    def _kept(self, said: Said) -> Said:
        """Return a message that was kept beside the newest summary with the ids of its copy; any other one unchanged.

        The file of a fork has it only there. The log of its origin has it before the summary, and may have the copy.
        """
        summary = self._place_of(self._summary) if self._summary and said.role != "system" else None
        if summary is None:
            return said
        parts = tuple(part._replace(ref=f"{part.ref}@{self._summary}") for part in said.parts)
        copy = next((place for part in parts if (place := self.log.place_of(part.ref)) is not None), None)
        before = self._place_of(said.parts[-1].ref)
        if copy is None and (before is None or before > summary):
            return said
        blocks = [block for part in parts for block in part.blocks]
        if copy is not None and len(self._recognition.stored([copy])) >= len(blocks):
            # It was copied as a whole, under the id of its first part.
            parts = tuple(Part(part.ref, blocks) for part in parts if self.log.place_of(part.ref) == copy)
        return said._replace(parts=parts)

    def _find(self, said: Said, half: int | None, rest: tuple[Part, ...], had: list[int], at: int | None) -> int | None:
        """Return the place of a message of which the log may have some parts, or all; what it does not have is added.

        Args:
            said: the message.
            half: where its last known part is.
            rest: the parts after that.
            had: other messages that it may be.
            at: the message that it follows in its source.
        """
        last = said.parts[-1]
        whole = self._recognition.renumbered(last, had) or self._recognition.whole(said.role, rest, had)
        if whole is not None:
            half, rest = whole, ()
        known = said.parts[: len(said.parts) - len(rest)]
        if known and self._target.stored is not None and self._target.stored.differs(known):
            self.changed.append(said.line)
        place, parts = half, rest
        if half is not None and said.role == "tool" and self.log.place_of(f"{last.ref}@{self._answer}") is not None:
            self._left.add([half], self._answer)  # an import saw it before its call
        is_settled = half is not None and bool(rest or self._left) and self.log.is_message(half)
        if half is not None and is_settled:
            place, parts = self._settled(said, half, rest, at)
        if parts:
            early = self._early_results(said, at) if self._had else []
            place = self._add(said, parts, at)
            self._left.add(early, parts[-1].ref)
        else:
            self.known += 1
        if place is None:
            self._at = half or self._at
        else:
            self._place_parts(said.parts, place, is_settled=is_settled)
        return place

    def _early_results(self, said: Said, at: int | None) -> list[int]:
        """Return the messages with results of the calls in a new message that an earlier import saw before it.

        Args:
            said: the new message.
            at: the message that it follows.
        """
        calls = {block["id"] for part in said.parts for block in part.blocks if block["type"] == "tool_call"}
        places, stored = self.log.following(at, self._had) if calls else [], self._recognition.stored
        return [place for place in places if calls & {block.get("tool_call_id") for block in stored([place])}]

    def _add(self, said: Said, parts: tuple[Part, ...], at: int | None) -> int | None:
        """Add the parts of a message that are new; return their place, or ``None`` if they were refused."""
        if self._late is not None:
            self._add_late()
        element: Json = {"role": said.role, "content": self._content(said, parts, at)}
        if said.metadata:
            element["provider_metadata"] = said.metadata
        return self._put(element, parts[-1].ref, said, is_prompt=said.role == "user")

    def _read_rest(self, said: Said) -> None:
        """Read a message without the parts that are in the log as records beside the conversation: they stay these."""
        rest = tuple(part for part in said.parts if not self._is_noted(part))
        if rest:
            self._read(said._replace(parts=rest))
        else:
            self.known += 1

    def _is_noted(self, part: Part) -> bool:
        """Return whether a part is in the log as a record, as an earlier version took it."""
        place = self.log.place_of(part.ref)
        return place is not None and not self.log.is_message(place)

    def _content(self, said: Said, parts: tuple[Part, ...], at: int | None) -> list[Json]:
        """Return the blocks of parts of a message, as they were redacted here.

        Args:
            said: the message.
            parts: the parts.
            at: the message that it follows in its source.
        """
        blocks = [block for part in parts for block in part.blocks]
        if self.redactions.are_none:
            return blocks
        before = said.parts[: -len(parts)] if parts == said.parts[-len(parts) :] else ()
        skipped = sum(len(part.blocks) for part in before)
        redacted = self.redactions.instead_of(said.role, parts, skipped, lambda: self._beside(at))
        return blocks if redacted is None else redacted

    def _beside(self, at: int | None) -> list[int]:
        """Return the messages that come after a place in the log as it was; a clone has other ones of these seqs."""
        is_there = self._target.row is not None or not self.writer.agent or (at or 0) <= self._cloned
        return self._target.log.following(at, self._target.log.head) if is_there else []

    def _place_parts(self, parts: tuple[Part, ...], place: int, *, is_settled: bool) -> None:
        """Note where the parts of a message are: it is in the log under the id of its last one.

        Those that are there under their own, and not before it, were left behind.
        """
        for part in parts:
            if (found := self.log.place_of(part.ref)) != place:
                self._places[part.ref] = place
                if found is not None and not is_settled:
                    self._left.add(pieces_of(parts, place, self.log)[1], parts[-1].ref)

    def _note_opening(self, said: Said, opening: list[Said]) -> None:
        if said.role != "system":
            opening.append(said)
            if said.role != "user" or len(opening) > _OPENING:
                self._opening = None

    def _add_late(self) -> None:
        """Add a prompt that was found after what it is for: before that, if no answer is there yet, else here."""
        late, self._late = self._late, None
        if late is None:
            return
        opening = None if self.log.is_answered else self._opening
        if opening:
            self._at, self._base, self._opening = None, None, []
        self._read(late)
        for said in opening or ():
            self._read(said)

    def _go_to(self, place: int) -> None:
        self._at, self._newest = place, max(place, self._newest)

    def _move(self) -> None:
        """Go back to the last message of the source if it is on another branch, or before the end of this one.

        A source without the newest message is an older state of the conversation, or was cut: it does not decide. If a
        newer source does, the conversation stays where it was. It is impossible to go back to a message that does not
        end a command.
        """
        place = self._at if self._stays_at is None else self._stays_at
        if self.writer.agent and place not in (None, self.log.tip) and self._is_newest:
            self.writer.return_to(place)

    @property
    def _is_newest(self) -> bool:
        """Whether the source has the newest message of the conversation."""
        return self._newest == self.log.newest

    @property
    def _is_copy(self) -> bool:
        """Whether the source says nothing new, and the conversation is from another file, which is still there."""
        row = self._target.row
        place = row.tags.get(SOURCE, "") if row is not None else ""
        is_other = self.writer.describing.tags.get(SOURCE, place) != place
        return is_other and self.log.head <= self._had and Path(place).is_file()

    def _place_of(self, ref: str) -> int | None:
        place = self._places.get(ref) or self.log.place_of(ref)
        return place if place is not None and self.log.is_message(place) else None

    def _known_parts(self, parts: tuple[Part, ...]) -> tuple[int | None, tuple[Part, ...]]:
        """Return the place of the last known part of a message, and the parts after it."""
        for number in range(len(parts), 0, -1):
            place = self._recognition.place_of(parts[number - 1])
            if place is not None:
                self._at = place
                return place, parts[number:]
        return None, parts

    def _settled(
        self, said: Said, place: int, rest: tuple[Part, ...], at: int | None
    ) -> tuple[int | None, tuple[Part, ...]]:
        """Return the place of a message that is in the log, and what is to be added of it.

        If the log has its first parts alone, the whole message takes their place; see
        :mod:`reel.importing.adding.left_behind`.

        Args:
            said: the message.
            place: where its last known part is.
            rest: the parts after that.
            at: the message that it follows in its source.
        """
        pieces, left = pieces_of(said.parts, place, self.log)
        before = self.log.before(pieces[-1])
        instead = self._left.instead_of(pieces[-1], self.log) if before != at else None
        if not rest and instead is None:
            self._left.add(left, said.parts[-1].ref)
            return place, ()
        stored = self._recognition.stored(pieces) if self.log.is_redacted else None
        if stored is not None and rest and len(stored) != sum(len(part.blocks) for part in said.parts[: -len(rest)]):
            return place, rest  # nobody can tell which blocks of the source these are
        self._at = before if instead is None else at
        others = [other for other in self._had_after() if other not in (*pieces, *left)] if rest else []
        if (whole := self._recognition.whole(said.role, said.parts, others)) is not None:
            return whole, ()
        last = said.parts[-1] if rest else said.parts[-1]._replace(ref=f"{said.parts[-1].ref}@{instead}")
        self._left.add((*pieces, *left), last.ref if rest else instead or "")
        known = self.log.place_of(last.ref)
        if known is not None:
            return known, ()
        if stored is not None:
            return None, (last._replace(blocks=stored + [block for part in rest for block in part.blocks]),)
        return None, (*said.parts[:-1], last)

    def _had_after(self) -> list[int]:
        """Return the messages that the log had before, and that follow the place where the source is."""
        return self.log.following(self._at, self._had) if (self._at or 0) < self._had else []

    def _keep(self, kept: Kept) -> None:
        if (place := self.log.place_of(kept.ref)) is not None:
            self._recount(kept, place)
        elif not self.writer.agent:
            self._early.append(kept)
        else:
            self._put_record(self.redactions.of_record(kept))

    def _put_record(self, kept: Kept, first: int | None = None) -> None:
        """Add a record; ``first`` is the first count of the answer whose tokens it counts again, if it does so."""
        record = {"kind": kept.kind, "content": kept.content, "data_json": encode(kept.data, ascii_only=True)}
        seq = self._put(record, kept.ref, kept, is_prompt=False)
        if seq is not None and kept.kind == "usage":
            self.log.usages.add(seq if first is None else first, seq, kept.data)

    def _recount(self, kept: Kept, first: int) -> None:
        """Count the tokens of an answer again if its first count, at a seq, was made before it was complete."""
        place = self.log.usages.smaller(first, kept.data) if kept.kind == "usage" and self.writer.agent else None
        if place is None:
            self.known += 1
            return
        self.writer.flush()
        for earlier in self.writer.ask(requests.history(self.writer.agent, since=place - 1, limit=1)).events:
            self._put_record(replacing(kept, ref_for(kept.ref), earlier), first)

    def _compact(self, step: Compacted) -> None:
        step = step._replace(summary=self._recognition.named(step.summary))
        name = step.summary.parts[0].ref
        prompt, self._at = self._prompt_in_force(name), self._base
        if prompt is not None:
            self._read(prompt)
        self._repeat_all(step.before, name, step.summary.line)
        self._say(step.said)
        self._summary = name
        self._repeat_all(step.kept, name, step.summary.line)

    def _prompt_in_force(self, summary: str) -> Said | None:
        """Return the prompt that stays beside a summary, as a copy; ``None`` if the conversation begins with it."""
        place = self._place_of(self._prompt.parts[-1].ref) if self._prompt is not None else None
        if self._prompt is None or place is None or place == self._base or not self.log.leads(place, self._at):
            return None
        last = self._prompt.parts[-1]
        return self._prompt._replace(parts=(*self._prompt.parts[:-1], last._replace(ref=f"{last.ref}@{summary}")))

    def _repeat_all(self, refs: tuple[str, ...], summary: str, line: int) -> None:
        """Add again the messages kept beside a summary; several refs may be parts of one message."""
        copies: dict[int, int] = {}
        for ref in refs:
            place = self._place_of(ref)
            if place is None:
                continue
            if place not in copies:
                self._repeat(ref, place, f"{ref}@{summary}", line)
                copies[place] = self._place_of(ref) or place
            self._places[ref] = copies[place]

    def _repeat(self, ref: str, place: int, copy: str, line: int) -> None:
        """Add again a message kept after a summary."""
        if (known := self.log.place_of(copy)) is not None:
            self._places[ref] = known
            self._go_to(known)
            return
        self.writer.flush()
        page: Any = self.writer.ask(requests.messages(self.writer.agent, since=place - 1, limit=1, at=place))
        for message in page.messages:
            part, sent = Part(copy, message["content"]), message.get("sent", message["time"])
            self._say(Said(message["role"], (part,), message["provider_metadata"], sent, line))
            self._places[ref] = self._place_of(copy) or place

    def _put(self, element: Json, ref: str, step: Said | Kept, *, is_prompt: bool) -> int | None:
        """Collect a message or a record, and return its future seq; ``None`` if it was refused."""
        if not self.writer.agent:
            self._begin()
        return self.writer.put(element, ref, step, self._at, is_prompt=is_prompt)

    def _begin(self) -> None:
        """Make the agent if it is not there."""
        if self.writer.agent:
            return
        self._at = self.writer.make(self._at, self._sent)
        self._cloned = self._at or 0
        early, self._early = self._early, []
        for kept in early:
            self._keep(kept)
