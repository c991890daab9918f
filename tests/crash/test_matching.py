"""The search for the calls behind the commands finds one choice if there is any."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as some

from tests.crash.example import CREATE
from tests.crash.history import Command, Event
from tests.crash.matching import Option, match

SESSIONS, AGENTS = "st", "ab"
# A command: its connection and its agents; and the numbers of the calls and of the groups that fit it.
COMMAND = some.tuples(
    some.sampled_from(SESSIONS),
    some.sets(some.sampled_from(AGENTS), min_size=1),
    some.lists(some.tuples(some.integers(0, 4), some.integers(0, 4)), max_size=3),
)


def is_valid(commands: list[Command], choice: tuple[Option, ...]) -> bool:
    """Return whether no group has two commands, and each connection its order on each agent."""
    for place, (command, option) in enumerate(zip(commands, choice, strict=True)):
        for earlier, other in zip(commands[:place], choice, strict=False):
            if option.group == other.group:
                return False
            shared = command.session == earlier.session and command.heads.keys() & earlier.heads.keys()
            if shared and option.call.number <= other.call.number:
                return False
    return True


@given(some.lists(COMMAND, max_size=6))
def test_every_choice(drawn: list[tuple[str, set[str], list[tuple[int, int]]]]) -> None:
    """The search finds a valid choice exactly if there is one among all; otherwise it gets as far as any."""
    commands = [
        Command(min(agents), place, tuple(Event(0, each, place, place, "mark", None, None, session) for each in agents))
        for place, (session, agents, _) in enumerate(drawn)
    ]
    options = [
        [Option(CREATE._replace(session=session, number=number), group) for number, group in calls]
        for session, _, calls in drawn
    ]
    chosen = match(commands, options)

    assert is_valid(commands[: len(chosen)], tuple(chosen))
    longer = len(chosen) + 1
    assert longer > len(drawn) or not any(is_valid(commands[:longer], each) for each in product(*options[:longer]))
