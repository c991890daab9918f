"""Where a stretch can go: the same as in the property machine, in runs that meet each case."""

from typing import Any, TypeAlias

import pytest

from tests.reeld.core.test_machine import Conversations, ShortMemory

Step: TypeAlias = tuple[str, float, str | None, list[Any]]


def said(*texts: str) -> Step:
    """Return a step that adds messages."""
    return "add", 0, None, list(texts)


def at(what: str, fraction: float) -> Step:
    """Return a step to a part of what there is."""
    return what, fraction, None, ["if there is nothing"]


def marked(what: str, label: str | None = None) -> Step:
    """Return a step that sets a mark, or goes back to one."""
    return what, 0, label, []


@pytest.mark.parametrize("machine", [Conversations, ShortMemory])
@pytest.mark.parametrize(
    "steps",
    [
        # Back to what is committed, on to what is staged, and back again.
        [said("a"), at("restore", 0.3), said("b"), at("restore", 0.95), at("restore", 1), at("restore", 0.1)],
        # A staged mark is part of a state that is left and taken over again.
        [marked("mark", "one"), said("a"), at("restore", 0.2), at("restore", 0.93), marked("rewind", "one")],
        # A mark that an entry follows: a staged one, a committed one before staged entries, and a committed one.
        [marked("mark"), said("a"), marked("mark"), marked("rewind"), marked("rewind"), at("restore", 0.01)],
        [said("a"), marked("rewind"), marked("rewind")],
        [marked("rewind"), said("b"), marked("rewind", "two"), marked("rewind", "nowhere")],
        # What is replaced: of what is staged, of what is in memory, and of what is not.
        [said("a", "b"), at("replace", 1), at("replace", 0.9), at("replace", 0.5), at("replace", 0)],
        [at("replace", 1), said("c"), at("restore", 0.4), at("replace", 0.7)],
        # An empty conversation, and out of it again.
        [marked("clear"), said("a"), at("restore", 0.6), marked("clear"), at("restore", 0.99), marked("clear")],
        # A long way that is not in memory, from which another one branches off.
        [at("restore", 0.15), said("a"), at("restore", 0.8), said("b"), at("restore", 0.85), at("restore", 0.97)],
    ],
)
def test_a_stretch_goes_where_the_model_goes(machine: type[Conversations], steps: list[Step]) -> None:
    """In three stretches after one another, with all entries in memory and with one."""
    run = machine()
    agent = run.create("be brief")
    for number in range(6):
        run.add(agent, [f"user {number}", {"role": "assistant", "content": f"assistant {number}"}])
        run.mark(agent, "two" if number == 3 else None)
    run.add(agent, ["the last one"])
    for _ in range(3):
        run.stretch(agent, steps)
        run.all_agree()
        run.states_are_read_through_milestones()
    run.undo(agent)
    run.all_agree()
    run.teardown()
