"""The queued bytes of all connections, without connections."""

from reeld.serving.flow import Traffic


class Bearing:
    """A stand-in for a connection."""

    def __init__(self, number: int, load: Traffic) -> None:
        self.number = number
        self.waiting = 0
        self.load = load
        self.dropped = False
        load.peers.add(self)

    def drop(self) -> None:
        self.load.waiting -= self.waiting
        self.waiting = 0
        self.dropped = True

    def take(self, size: int) -> None:
        self.waiting += size
        self.load.buffer(size, 100)


def test_the_limit_itself_is_allowed() -> None:
    """The limit is allowed; above it the connections with the most queued bytes are dropped until it holds."""
    load = Traffic()
    one, two, three = (Bearing(number, load) for number in range(3))
    for bearing, size in ((one, 30), (two, 40), (three, 30)):
        bearing.take(size)
    assert [False] * 3 == [one.dropped, two.dropped, three.dropped]
    one.take(1)
    assert [False, True, False] == [one.dropped, two.dropped, three.dropped]

    three.take(200)
    assert [False, True, True] == [one.dropped, two.dropped, three.dropped]
    assert (31, 2) == (load.waiting, load.dropped)


def test_nobody_to_drop() -> None:
    """Counted bytes that belong to no connection drop none."""
    load = Traffic()
    load.buffer(200, 100)
    idle = Bearing(1, load)
    load.buffer(1, 100)

    assert not idle.dropped
