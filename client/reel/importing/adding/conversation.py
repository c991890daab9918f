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
from reel.base.strict_json import Json
from reel.importing.adding.agents import SOURCE
from reel.importing.adding.early_results import is_early, results_of
from reel.importing.adding.left_behind import LeftBehind
from reel.importing.adding.log import Log
from reel.importing.adding.pipeline import Commands
from reel.importing.adding.places import Places
from reel.importing.adding.recognition import Recognition
from reel.importing.adding.records import Records
from reel.importing.adding.redactions import Redactions
from reel.importing.adding.summaries import Summary
from reel.importing.adding.target import Target
from reel.importing.adding.writer import Writer
from reel.importing.steps import About, Again, Back, Compacted, Kept, Middle, Part, Said, Source, Step

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
        self._places = Places(self.writer)
        self._recognition = Recognition(self.writer, target)
        self._left = LeftBehind(self.writer, self._recognition)
        self._records = Records(self.writer, self.redactions)
        # The message after which the next one comes, and the prompt at the beginning, which keeps its place.
        self._at: int | None = None
        # The place to keep, if a newer source decides where the conversation continues.
        self._stays_at = target.log.tip if target.row and source.has_newer else None
        self._base: int | None = None
        # A prompt for the beginning of a log that is not there yet, or has other messages there: it comes before the
        # next new one.
        self._late: Said | None = None
        # The messages that were read before any answer; ``None`` once there is one.
        self._opening: list[Said] | None = []
        # The newest summary.
        self._summary = Summary("", 0)
        # The id of the newest answer that was read.
        self._answer = ""
        # The newest prompt that was read.
        self._prompt: Said | None = None
        # The newest message that was read, and the time of the last one: a fork of it is no newer.
        self._newest = 0
        self._sent: int | None = None

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
        self._recognition.had = 0  # who goes on knows where
        for ref, place in places.items():
            self._places.note(ref, place)

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
                self.known += not self._records.keep(step)
            case About():
                self.writer.describing.take(step)
            case Back():
                self._opening = None
                self._at = self._places.end_of(step.to) if step.to else self._base
            case Middle():
                self._opening = None
                self._at = self._places.end_of(step.after, self.log.tip)
            case Compacted():
                self._opening = None
                self._compact(step)
            case Again():
                self._repeat_all(step.refs, self._summary)

    def finish(self) -> None:
        """Send the remaining messages, and set the title and the tags."""
        self._unless_it_failed(self._finish)

    def _finish(self) -> None:
        if self._target.is_fork and self._at is not None and not self.writer.agent:
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
        if self._at is not None or self._places.of_message(ref) is not None:
            return prompt
        place, named = self._recognition.prompt(prompt, self._recognition.had_after(None))
        if place is not None:
            self._places.note(ref, place)
        return named

    def _takes_prompt(self, prompt: Said) -> bool:
        """Return whether a prompt has its place here and now; one that is there stays where it is."""
        place = self._places.of_message(prompt.parts[-1].ref)
        if self._late is not None and self._late.parts == prompt.parts:
            self._add_late()
            return False
        is_first = place is None and self._at is None
        # Of a prompt alone no agent is made: a session that was opened and left has nothing else.
        is_late = is_first and (not self.writer.agent or self.log.after(None) is not None)
        self._late = prompt if is_late else None
        return not is_late and (place is None or place != self._base)

    def _read(self, said: Said) -> None:
        there = self._recognition.named(said)
        if self._summary.ref and said.role != "system":
            there = self._summary.in_fork(there, self.log, self._places, self._recognition.stored)
        self._read_as(there)
        if there is not said:
            for part in said.parts:
                self._places.note(part.ref, self._at or 0)

    def _read_as(self, said: Said) -> None:
        """Read a message with the ids that it has in the log."""
        at = self._at
        begins = said.role == "system" and at == self._base
        if said.role == "system":
            self._prompt = said
        known, rest = self._recognition.last_known(said.parts)
        if known is not None and not self.log.is_message(known):
            self._read_rest(said)
            return
        had = self._recognition.had_after(known or at) if rest and said.role != "system" else []
        if known is None and not had:  # as nearly all that is new
            place = self._add(said, said.parts, at)
            if place is not None:
                for part in said.parts[:-1]:
                    self._places.note(part.ref, place)
        else:
            place = self._find(said, known, rest, had)
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

    def _find(self, said: Said, half: int | None, rest: tuple[Part, ...], had: list[int]) -> int | None:
        """Return the place of a message of which the log may have some parts, or all; what it does not have is added.

        Args:
            said: the message.
            half: where its last known part is.
            rest: the parts after that.
            had: other messages that it may be.
        """
        at, recognition = self._at, self._recognition
        if had:
            whole = recognition.renumbered(said.parts[-1], had) or recognition.whole(said.role, rest, had)
            half, rest = (half, rest) if whole is None else (whole, ())
        known = said.parts[: len(said.parts) - len(rest)]
        if known and self._target.stored is not None and self._target.stored.differs(known):
            self.changed.append(said.line)
        if half is not None:
            if is_early(said, half, self._places.of_message(self._answer)):
                self._left.add([half], self._answer)
            half, rest, self._at = self._left.settled(said, half, rest, at)
        place = half
        if rest:
            early = results_of(said, self.log.following(at, recognition.had), recognition.stored)
            place = self._add(said, rest, at)
            self._left.add(early, rest[-1].ref)
        else:
            self.known += 1
        if unfinished := [one for one in recognition.unfinished(said.parts) if one != place]:
            after = self.log.following(at, recognition.had)
            self._left.add([one for one in unfinished if one in after], said.parts[-1].ref)
        if place is None:
            self._at = half or self._at
        else:
            for part in said.parts:
                if self.log.place_of(part.ref) != place:
                    self._places.note(part.ref, place)
        return place

    def _add(self, said: Said, parts: tuple[Part, ...], at: int | None) -> int | None:
        """Add the parts of a message that are new; return their place, or ``None`` if they were refused.

        Args:
            said: the message.
            parts: the parts.
            at: the message that it follows in its source.
        """
        if self._late is not None:
            self._add_late()
        element: Json = {"role": said.role, "content": self.redactions.of_message(said, parts, at)}
        if said.metadata:
            element["provider_metadata"] = said.metadata
        if not self.writer.agent:
            self._begin()
        return self.writer.put(element, parts[-1].ref, said, self._at, is_prompt=said.role == "user")

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
        return is_other and self.log.head <= self._recognition.had and Path(place).is_file()

    def _compact(self, step: Compacted) -> None:
        step = step._replace(summary=self._recognition.named(step.summary))
        summary = Summary(step.summary.parts[0].ref, step.summary.line)
        prompt, self._at = self._prompt_in_force(), self._base
        if prompt is not None:
            self._read(summary.prompt(prompt))
        self._repeat_all(step.before, summary)
        self._say(step.said)
        self._summary = summary
        self._repeat_all(step.kept, summary)

    def _prompt_in_force(self) -> Said | None:
        """Return the prompt that stays beside a summary, as a copy; ``None`` if the conversation begins with it."""
        place = self._places.of_message(self._prompt.parts[-1].ref) if self._prompt is not None else None
        is_copied = place is not None and place != self._base and self.log.leads(place, self._at)
        return self._prompt if is_copied else None

    def _repeat_all(self, refs: tuple[str, ...], summary: Summary) -> None:
        """Add again the messages kept beside a summary; several refs may be parts of one message."""
        copies: dict[int, int] = {}
        for ref in refs:
            place = self._places.of_message(ref)
            if place is not None:
                copies[place] = copies.get(place) or self._repeat(ref, place, summary)
                self._places.note(ref, copies[place])

    def _repeat(self, ref: str, place: int, summary: Summary) -> int:
        """Add again a message kept beside a summary, unless its copy is there; return the place of that."""
        copy = summary.ref_of_copy(ref)
        known = self.log.place_of(copy)
        if known is not None:
            self._go_to(known)
            return known
        self.writer.flush()
        page: Any = self.writer.ask(requests.messages(self.writer.agent, since=place - 1, limit=1, at=place))
        for message in page.messages:
            self._say(summary.copy(ref, message))
        return self._places.of_message(copy) or place

    def _begin(self) -> None:
        """Make the agent."""
        self._at = self.writer.make(self._at, self._sent)
        self.redactions.made_at = self._at or 0
        self.known += self._records.keep_early()
