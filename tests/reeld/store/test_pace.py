"""Which commits may hold up the event loop."""

from hypothesis import given
from hypothesis import strategies as st

from reeld.core.milestones import Extent, Milestone
from reeld.store.pace import Pace, are_small
from reeld.store.transactions import Transaction
from tests.reeld.store.making import event, made

FAST, SLOW, STOP = 0.0003, 0.005, 0.05


class Clock:
    """A clock that the test turns."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def proven(clock: Clock) -> Pace:
    """Return the pace of a disk that has been fast."""
    pace = Pace(clock)
    thread(pace, FAST, 100)
    assert pace.is_fast()
    return pace


def thread(pace: Pace, seconds: float, times: int) -> None:
    """Note some syncs in the connection's thread."""
    for _ in range(times):
        pace.note(seconds, in_loop=False)


def test_the_thread_has_the_first_commits() -> None:
    """After a start, ten syncs have to be fast before the loop takes one."""
    pace = Pace(Clock())

    thread(pace, FAST, 9)
    assert not pace.is_fast()
    thread(pace, FAST, 1)
    assert pace.is_fast()


def test_a_slow_disk_never_gets_the_loop() -> None:
    """However many commits a slow disk makes, all are the thread's."""
    pace = Pace(Clock())
    for _ in range(1000):
        pace.note(SLOW, in_loop=False)
        assert not pace.is_fast()


def test_a_disk_that_becomes_slow() -> None:
    """Two syncs of 5 ms end the commits in the loop, and a hundred fast ones bring them back."""
    pace = proven(Clock())

    pace.note(SLOW, in_loop=True)
    assert pace.is_fast()
    pace.note(SLOW, in_loop=True)
    assert not pace.is_fast()
    thread(pace, SLOW, 1000)
    thread(pace, FAST, 5)
    assert not pace.is_fast()
    thread(pace, FAST, 100)
    assert pace.is_fast()


def test_two_stops_within_a_minute() -> None:
    """A sync of 50 ms stops the loop twice within a minute at most, however fast the others are."""
    clock = Clock()
    pace = proven(clock)
    stops = []
    for _ in range(10_000):
        clock.now += 0.1
        if pace.is_fast():
            stops.append(clock.now)
            pace.note(STOP, in_loop=True)
        else:
            pace.note(FAST, in_loop=False)

    assert len(stops) > 10
    assert all(later - earlier >= 60 for earlier, later in zip(stops, stops[2:], strict=False))


def test_slow_look_ups() -> None:
    """A look-up that takes long stops the loop as a sync does; a short one says nothing of the disk."""
    pace = proven(Clock())

    pace.note_look(STOP)
    pace.note_look(SLOW)
    pace.note_look(FAST)
    assert pace.is_fast()
    pace.note(STOP, in_loop=True)
    assert not pace.is_fast()


@given(st.lists(st.sampled_from([FAST, FAST, FAST, SLOW, STOP, 0.2]), max_size=1000))
def test_no_third_stop(syncs: list[float]) -> None:
    """Whatever a disk does, no third sync of more than 10 ms stops the loop within a minute."""
    clock = Clock()
    pace = proven(clock)
    stops = []
    for seconds in syncs:
        clock.now += 0.01
        in_loop = pace.is_fast()
        pace.note(seconds, in_loop=in_loop)
        if in_loop and seconds > 0.01:
            stops.append(clock.now)

    assert len(stops) <= 2


def test_what_are_small() -> None:
    """Commits are small up to 64 events or milestones and 100,000 characters; probes and erasures never are."""
    milestone = Milestone(1, 1, Extent(1, 1), "user", None, None, None, (), ())
    few, long = [event(1)._replace(content="x")], [event(1)._replace(content="x" * 100_001)]
    write = made(1).parts[0]

    assert are_small([Transaction([], [])])
    assert are_small([Transaction([write._replace(events=few * 64)], [])])
    assert not are_small([Transaction([write._replace(events=few * 65)], [])])
    assert not are_small([Transaction([write._replace(events=few * 33)], [])] * 2)
    assert not are_small([Transaction([write._replace(events=long)], [])])
    assert not are_small([Transaction([], [], [milestone] * 65)])
    assert not are_small([Transaction([], [], is_probe=True)])
