"""A file that conversations and people change at random, and who really wrote each line of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from random import Random

from reel.blame.steps import Edit, Look
from reel.blame.versions import History, Origin, Version

# Lines that everybody writes.
TRIVIAL = ("}", "", "    return", "    }", "end")
PERSON = "a person"


@dataclass
class Written:
    """A line, who really wrote it, and where git says that it comes from."""

    text: str
    writer: str
    origin: Origin | None = None


@dataclass
class File:
    """A file, and what is known of what happened to it.

    Args:
        chance: what decides.
        lines: its lines.
    """

    chance: Random
    lines: list[Written] = field(default_factory=list)
    steps: list[Edit[str] | Look] = field(default_factory=list)
    versions: dict[str, Version] = field(default_factory=dict)
    newest: Version | None = None
    # Where the lines of the newest commit come from.
    origins: list[Origin] = field(default_factory=list)
    # Whether somebody whom no tool sees has changed it since a tool saw it.
    unseen: bool = True
    # Whether of some edits nobody knows whether they were done.
    doubts: bool = True
    _numbers: count[int] = field(default_factory=count)

    @property
    def text(self) -> str:
        """The file."""
        return "".join(f"{line.text}\n" for line in self.lines)

    @property
    def history(self) -> History | None:
        """What git knows of it."""
        return None if self.newest is None else History(self.newest, self.origins, self.versions)

    def _time(self) -> int:
        return next(self._numbers) * 10_000

    def _fresh(self, writer: str, most: int = 4) -> list[Written]:
        return [
            Written(
                self.chance.choice(TRIVIAL)
                if self.chance.random() < 0.4
                else f"    what {writer} said {next(self._numbers)}",
                writer,
            )
            for _ in range(self.chance.randint(0, most))
        ]

    def _stretch(self) -> tuple[int, int]:
        first = self.chance.randint(0, len(self.lines))
        return first, min(len(self.lines), first + self.chance.randint(0, 3))

    def _put(self, first: int, end: int, new: list[Written]) -> None:
        self.lines[first:end] = _instead(self.lines[first:end], new)

    def a_person_changes_it(self) -> None:
        """Replace, remove, move or indent some lines, unseen."""
        first, end = self._stretch()
        match self.chance.randrange(4):
            case 0:
                moved = self.lines[first:end]
                del self.lines[first:end]
                at = self.chance.randint(0, len(self.lines))
                self.lines[at:at] = [Written(line.text, line.writer) for line in moved]
            case 1:
                self.lines[first:end] = [Written(f"    {line.text}", line.writer) for line in self.lines[first:end]]
            case _:
                self._put(first, end, self._fresh(PERSON))
        self.unseen = True

    def a_conversation_edits_it(self) -> None:
        """Replace a text that is in the file once, or the whole file."""
        time = self._time()
        writer = f"talk {self.chance.randrange(3)} #{time}"
        if self.chance.random() < 0.2:
            self._write(writer, time)
            return
        first, end = self._stretch()
        low, high = first, end
        while (low, high) != (0, len(self.lines)) and (low == high or not _is_once(self._text(low, high), self.text)):
            low, high = max(0, low - 1), min(len(self.lines), high + 1)
        before = self._text(low, high)
        new = [*self.lines[low:first], *_instead(self.lines[first:end], self._fresh(writer)), *self.lines[end:high]]
        after = "".join(f"{line.text}\n" for line in new)
        if not before or before == after:
            return
        if self.doubts and self.chance.random() < 0.1:
            self.steps.append(Edit(writer, time, after, before, done=False))
            return
        self.lines[low:high] = new
        self.steps.append(Edit(writer, time, after, before))

    def _text(self, low: int, high: int) -> str:
        return "".join(f"{line.text}\n" for line in self.lines[low:high])

    def _write(self, writer: str, time: int) -> None:
        before, old = self.text, self.lines.copy()
        if self.unseen and (self.lines or self.steps):
            self.steps.append(Look(time - 1, before if self.chance.random() < 0.5 else None))
        for _ in range(self.chance.randint(0, 3)):
            first, end = self._stretch()
            self._put(first, end, self._fresh(writer))
        self.lines = _instead(old, self.lines)
        if not self.lines:
            self.lines = [Written(f"the first words of {writer}", writer)]
        self.steps.append(
            Edit(writer, time, self.text, before if self.chance.random() < 0.3 and before else None, whole=True)
        )
        self.unseen = False

    def commit(self) -> None:
        """Commit it, if it was changed."""
        if self.newest is not None and self.newest.text == self.text:
            return
        name = f"commit {next(self._numbers)}"
        self.newest = self.versions[name] = Version(self._time() // 1000, self.text, self.newest)
        self.origins = []
        for at, line in enumerate(self.lines):
            line.origin = line.origin or Origin(name, at)
            self.origins.append(line.origin)


def _instead(old: list[Written], new: list[Written]) -> list[Written]:
    """Return lines that are put in the place of others; what was there at the same end stays what it was."""
    new = new.copy()
    most = min(len(old), len(new))
    for ends in (range(most), range(-1, -most - 1, -1)):
        for at in ends:
            if old[at].text != new[at].text:
                break
            new[at] = old[at]
    return new


def _is_once(text: str, whole: str) -> bool:
    return whole.find(text) == whole.rfind(text)


def changed(seed: int, *, people: bool, steps: int = 12) -> File:
    """Return a file after some random changes."""
    file = File(Random(seed), doubts=people)
    for _ in range(steps):
        if people and file.chance.random() < 0.35:
            file.a_person_changes_it()
        elif file.chance.random() < 0.2:
            file.commit()
        elif file.lines:
            file.a_conversation_edits_it()
        else:
            file._write(f"talk 0 #{(time := file._time())}", time)
    return file
