"""Which calls of the async client may be sent, and when."""

from reel.aio.outgoing import Outgoing, Waiting


def queued(*methods: str, most: int) -> Outgoing:
    """Return calls of these methods that are to be sent, numbered from 0, for a daemon that accepts so many at once."""
    outgoing = Outgoing()
    outgoing.widen_to(most)
    for number, method in enumerate(methods):
        outgoing.put(Waiting(number, method, f"{number}".encode()))
    return outgoing


async def test_no_more_than_the_daemon_accepts() -> None:
    """The others follow when responses come, in their order; one whose caller was cancelled is not sent."""
    outgoing = queued("add", "add", "add", "add", most=2)

    assert b"01" == outgoing.take(range(4))
    assert b"" == outgoing.take(range(4))
    assert outgoing.answered(1)
    assert b"3" == outgoing.take({3})


async def test_calls_that_may_wait_for_long() -> None:
    """They do not count as in flight."""
    outgoing = queued("add", "wait", "search", "add", most=1)

    assert b"012" == outgoing.take(range(4))
    assert not outgoing.answered(1)
    assert outgoing.answered(0)


async def test_after_a_connection_was_lost() -> None:
    """The calls are sent again one by one, and twice as many with each response."""
    outgoing = queued(most=8)
    calls = [Waiting(number, "add", f"{number}".encode()) for number in range(8)]
    outgoing.narrow(8)
    outgoing.begin(calls)
    sent = [outgoing.take(range(8))]
    for number in (0, 1):
        outgoing.answered(number)
        sent.append(outgoing.take(range(8)))

    assert [b"0", b"12", b"345"] == sent
