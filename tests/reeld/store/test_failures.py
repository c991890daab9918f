"""What the log says of commits and reads that fail."""

import pytest

from reeld.store.failures import COMMITS, READS, Failures


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def failures(clock: Clock) -> Failures:
    return Failures(COMMITS, "/r.db", clock)


def test_the_first_failure(failures: Failures, caplog: pytest.LogCaptureFixture) -> None:
    """The first failure is logged at once, as an error with its reason."""
    failures.failed("disk full")

    assert [("ERROR", "a commit to /r.db failed: disk full")] == [
        (record.levelname, record.message) for record in caplog.records
    ]


def test_more_failures(failures: Failures, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """Further ones are counted, and told once a minute."""
    for _ in range(241):
        failures.failed(f"at {clock.now:.0f}")
        clock.now += 0.5

    assert [
        "a commit to /r.db failed: at 1000",
        "121 commits to /r.db failed, the last one: at 1060",
        "241 commits to /r.db failed, the last one: at 1120",
    ] == caplog.messages


def test_commits_that_work_again(failures: Failures, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """When commits work again, that is logged once, with the number of those that failed."""
    for _ in range(3):
        failures.failed("disk full")
    clock.now += 7
    for _ in range(3):
        failures.succeeded()

    assert ["commits to /r.db work again; 3 failed within 7 s"] == caplog.messages[1:]


def test_failure_and_success_by_turns(failures: Failures, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """If commits fail and succeed by turns there are two lines a minute, and every failure is in one of them."""
    for _ in range(121):
        failures.failed("too large")
        failures.succeeded()
        clock.now += 1

    assert [
        "a commit to /r.db failed: too large",
        "commits to /r.db work again; 1 failed within 0 s",
        "60 commits to /r.db failed, the last one: too large",
        "commits to /r.db work again; 60 failed within 0 s",
        "60 commits to /r.db failed, the last one: too large",
        "commits to /r.db work again; 60 failed within 0 s",
    ] == caplog.messages


def test_the_last_failures_are_told_later(failures: Failures, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """What was only counted is told when a minute has passed, though no commit fails any more."""
    for _ in range(2):
        failures.failed("too large")
        failures.succeeded()
    failures.report()
    clock.now += 60
    for _ in range(2):
        failures.report()

    assert ["a commit to /r.db failed: too large"] == caplog.messages[2:]


def test_reads(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """Reads are called reads."""
    failures = Failures(READS, "/r.db", clock)
    failures.failed("agent=7 cannot be loaded: the server is away")
    failures.failed("agent=8 cannot be loaded: the server is away")
    failures.succeeded()

    assert [
        "a read of /r.db failed: agent=7 cannot be loaded: the server is away",
        "reads of /r.db work again; 2 failed within 0 s",
    ] == caplog.messages
