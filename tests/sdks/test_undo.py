"""Whatever another program takes back of a session of a framework, it is what the vendor's own store had then."""

import os
import random
import re
from collections.abc import Collection
from itertools import count
from typing import Any

import pytest

from reel.base.errors import NothingToUndo
from reel.sync.client import Client
from tests.sdks.played import AGAIN, Played, Steps, said

_NUMBERS = count()
# How long a session becomes: the vendor's store begins anew for each check.
_LONG = 30
# What stands for a text that was redacted.
_REDACTED = "[redacted]"
_MARK = re.compile(r"\[redacted [^\]]*\]")
# How many steps each program does.
_STEPS = 1_000 if os.environ.get("REEL_CRASH_LONG") else 40

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL"),
]


def check(played: Played, steps: Steps, redacted: Collection[str] = ()) -> None:
    """Check that our store has what the vendor's has after some steps, in this process and in another one.

    Args:
        played: the session.
        steps: the steps.
        redacted: the texts in whose place is the mark of a redaction.
    """
    new = played.new()
    expected = without(played.theirs(steps), redacted)
    assert expected == without(played.ours(played.live))
    assert expected == without(played.ours(new))
    played.close(new)


def without(state: Any, texts: Collection[str] = ()) -> Any:
    """Return a state with a mark in place of each of some texts, and of whatever in a list has the mark of a redaction.

    What only the framework keeps of a message, such as its id, goes with the words.
    """
    if isinstance(state, dict):
        return {key: without(value, texts) for key, value in state.items()}
    if isinstance(state, tuple):
        return tuple(without(each, texts) for each in state)
    if isinstance(state, list):
        return [_REDACTED if _REDACTED in str(found) else found for found in (without(each, texts) for each in state)]
    shown = state if isinstance(state, str) else repr(state)
    for text in texts:
        shown = shown.replace(text, _REDACTED)
    return _MARK.sub(_REDACTED, shown)


def test_a_turn_is_one_undo(played: Played, client: Client) -> None:
    """A turn that is taken back was never there; one undo brings it back, and the next turn takes its place."""
    for number in range(3 * played.steps):
        played.step(number)

    client.undo_turn(played.agent)
    check(played, range(2 * played.steps))
    client.undo(played.agent)
    check(played, range(3 * played.steps))
    client.undo_turn(played.agent)
    client.undo_turn(played.agent)
    check(played, range(played.steps))
    for number in range(5 * played.steps, 6 * played.steps):
        played.step(number)
    check(played, [*range(played.steps), *range(5 * played.steps, 6 * played.steps)])


def test_an_unfinished_turn(played: Played, client: Client) -> None:
    """A turn that was cut short is taken back as a whole as well."""
    for number in range(played.steps + 1):
        played.step(number)
    client.undo_turn(played.agent)
    check(played, range(played.steps))
    client.undo_turn(played.agent)
    check(played, [])


class _Program:
    """Random steps, and what should be there after them.

    Args:
        played: the session.
        client: who goes back.
        seed: decides the steps.
    """

    def __init__(self, played: Played, client: Client, seed: int) -> None:
        self._played, self._client, self._random = played, client, random.Random(seed)
        self._turns = count()
        self._tried: set[int] = set()
        self.steps: tuple[int, ...] = ()
        self.redacted: list[str] = []
        # What was there before each command that can be undone, and what each undo has taken back.
        self._before: list[tuple[int, ...]] = []
        self._after: list[tuple[int, ...]] = []

    def begin(self) -> None:
        """Do the first step."""
        self._step()

    def go_on(self) -> None:
        """Do something."""
        going_on = [self._step] * (3 if len(self.steps) < _LONG else 0)
        rare = [self._redact, self._clone] if self._random.random() < 0.2 else []
        self._random.choice([*going_on, self._undo, self._redo, self._undo_turn, *rare])()

    def _step(self) -> None:
        last = self.steps[-1] % AGAIN + 1 if self.steps else 0
        if last % self._played.steps == 0 or self._random.random() < 0.1:
            last = next(self._turns) * self._played.steps
        while last in self._tried:
            last += AGAIN
        self._tried.add(last)
        self._played.step(last)
        self._did((*self.steps, last))

    def _did(self, steps: tuple[int, ...]) -> None:
        self._before.append(self.steps)
        self._after.clear()
        self.steps = steps

    def _undo(self) -> None:
        if not self._before:
            with pytest.raises(NothingToUndo):
                self._client.undo(self._played.agent)
            return
        self._client.undo(self._played.agent)
        self._after.append(self.steps)
        self.steps = self._before.pop()

    def _redo(self) -> None:
        if self._after:
            self._client.redo(self._played.agent)
            self._before.append(self.steps)
            self.steps = self._after.pop()

    def _undo_turn(self) -> None:
        begins = [place for place, number in enumerate(self.steps) if number % AGAIN % self._played.steps == 0]
        if begins:
            self._client.undo_turn(self._played.agent)
            self._did(self.steps[: begins[-1]])

    def _redact(self) -> None:
        if self.steps:
            text = said("question", self.steps[-1] % AGAIN // self._played.steps)
            self._client.redact(self._played.agent, text=text)
            self.redacted.append(text)

    def _clone(self) -> None:
        """Go on in a clone, which is a session as well; what was done before cannot be undone there."""
        source = self._played.agent
        self._played.session = f"{self._played.session.partition('-clone')[0]}-clone{next(_NUMBERS)}"
        self._client.clone(source, self._played.agent)
        self._played.close(self._played.live)
        self._played.live = self._played.new()
        self._before.clear()
        self._after.clear()


# A thousand steps of LangGraph take some twenty minutes: the vendor's store begins anew for each check.
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [1])
def test_any_moment(played: Played, client: Client, seed: int) -> None:
    """After each undo, redo and undo of a turn from outside, the store has what the vendor's had at that step."""
    program = _Program(played, client, seed)
    program.begin()
    for _ in range(_STEPS):
        program.go_on()
        check(played, program.steps, program.redacted)
