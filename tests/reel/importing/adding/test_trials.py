"""What failed is tried again less and less often."""

from reel.importing.adding.trials import Trials


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def waits(trials: Trials, clock: Clock, failures: int) -> list[float]:
    """Return how long each failure is waited for, if every trial fails."""
    found = []
    for _ in range(failures):
        trials.fail("it")
        begun = clock.now
        while not trials.is_due("it"):
            clock.now += 1
        found.append(clock.now - begun)
    return found


def test_the_wait_doubles_up_to_ten_minutes() -> None:
    """A failure is tried again after two seconds, then after twice as long each time, up to ten minutes."""
    clock = Clock()

    assert [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600] == waits(Trials(clock), clock, 11)


def test_what_never_failed_is_due() -> None:
    """Something else is tried, whatever failed."""
    trials = Trials(Clock())
    trials.fail("it")

    assert trials.is_due("another")


def test_what_changes_is_due_and_waits_anew() -> None:
    """A change is tried at once; if that fails as well, the wait begins with two seconds."""
    clock = Clock()
    trials = Trials(clock)
    for _ in range(5):
        trials.fail("it", "old")
    assert not trials.is_due("it", "old")
    assert trials.is_due("it", "new")

    trials.fail("it", "new")
    clock.now = 2.0
    assert trials.is_due("it", "new")


def test_success_is_no_failure() -> None:
    """After a success, the next failure is the first one."""
    clock = Clock()
    trials = Trials(clock)
    for _ in range(5):
        trials.fail("it")
    trials.succeed("it")
    assert trials.is_due("it")
    trials.fail("it")
    clock.now = 2.0

    assert trials.is_due("it")
