"""The disk fails, is slow, or the daemon dies while it writes to it: nothing is lost, and nothing refused is there."""

import errno
import signal

import pytest

import reel
from tests.crash import tally
from tests.crash.nursery import Doomed
from tests.crash.shim import COMPILER, Action, File, Op, Shim
from tests.crash.siege import Siege
from tests.daemon import until

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no compiler")

# What the disk is asked at each of these places.
PLACES = {
    "before the first page of the WAL": (Action.DIE_BEFORE, Op.WRITE, File.WAL, 0),
    "between pages of the WAL": (Action.DIE_BEFORE, Op.WRITE, File.WAL, 7),
    "the WAL written, not synced": (Action.DIE_BEFORE, Op.SYNC, File.WAL, 3),
    "the WAL synced": (Action.DIE_AFTER, Op.SYNC, File.WAL, 3),
    "in a checkpoint, before its first page": (Action.DIE_BEFORE, Op.WRITE, File.DATABASE, 0),
    "in a checkpoint, between pages": (Action.DIE_AFTER, Op.WRITE, File.DATABASE, 3),
    "in a checkpoint, before it is synced": (Action.DIE_BEFORE, Op.SYNC, File.DATABASE, 0),
    "in a checkpoint, after it is synced": (Action.DIE_AFTER, Op.SYNC, File.DATABASE, 0),
}
CLOSING = {
    "closing, before the WAL goes": (Action.DIE_BEFORE, Op.UNLINK, File.WAL, 0),
    "closing, after the WAL has gone": (Action.DIE_AFTER, Op.UNLINK, File.WAL, 0),
}


def test_death_in_the_midst_of_writing(frail: Doomed, shim: Shim) -> None:
    """It dies at each place where SQLite writes or syncs, under load, and nothing is lost, doubled or torn."""
    siege = Siege(frail, seed=300)
    frail.start()
    for action, op, files, skip in PLACES.values():
        shim.order(action, op, files, skip=skip)
        with siege.load():
            frail.died()
        shim.calm()
        assert 1 == shim.hits
        frail.start()
        siege.look()
        tally.count("fault points hit")


def test_death_while_it_closes(frail: Doomed, shim: Shim) -> None:
    """It dies while its last checkpoint is made and the WAL goes."""
    siege = Siege(frail, seed=301)
    for action, op, files, skip in CLOSING.values():
        frail.start()
        with siege.load():
            siege.work(100)
        with shim.ordered(action, op, files, skip=skip):
            frail.process.send_signal(signal.SIGTERM)
            frail.died()
        frail.start()
        siege.look()
        frail.end()
        tally.count("fault points hit")


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EROFS, errno.EDQUOT])
@pytest.mark.parametrize("op", [Op.WRITE, Op.SYNC])
def test_a_disk_that_fails_for_a_while(frail: Doomed, shim: Shim, op: Op, code: int) -> None:
    """What cannot be written changes nothing, reads go on, and when the disk works again, so do adds.

    Of what was written and could not be synced nobody knows what a crash would make of it, and it is said so.
    """
    error, says = (reel.Storage, "nothing was written") if op is Op.WRITE else (reel.Internal, "nobody knows")
    frail.start()
    with frail.client() as client:
        client.add("demo", "before", create=True)
        with shim.ordered(Action.FAIL, op, File.WAL, value=code):
            with pytest.raises(error, match=says):
                client.add("demo", "refused")
            assert 1 == client.agent("demo").messages
        client.add("demo", "after")
        assert 2 == client.agent("demo").messages
        assert client.replay("demo").matched


@pytest.mark.parametrize("op", [Op.WRITE, Op.SYNC])
def test_what_was_refused_stays_refused(frail: Doomed, shim: Shim, op: Op) -> None:
    """Where the disk fails and the daemon dies before another commit, what was refused is not there afterwards."""
    frail.start()
    with frail.client() as client:
        client.add("demo", "before", create=True)
        with shim.ordered(Action.FAIL, op, File.WAL, count=1, value=errno.EIO), pytest.raises(reel.Storage):
            client.add("demo", "refused")
        frail.kill()
        frail.start()

        assert ["before"] == [record["content"] for record in client.iter_conversation("demo")]


def struck(shim: Shim, times: int) -> None:
    """Wait until the last order was carried out so often."""
    until(lambda: shim.hits == times)


@pytest.mark.parametrize("op", [Op.WRITE, Op.SYNC])
@pytest.mark.parametrize("files", [File.WAL, File.DATABASE])
def test_faults_under_load(frail: Doomed, shim: Shim, op: Op, files: File) -> None:
    """Under load the disk fails now and then, and then the daemon dies."""
    siege = Siege(frail, seed=302)
    frail.start()
    for skip in range(2):
        with siege.load():
            for _ in range(3):
                shim.order(Action.FAIL, op, files, skip=skip, count=1 + skip, value=errno.EIO)
                struck(shim, 1 + skip)
                siege.work(10)
            frail.kill()
        shim.calm()
        frail.start()
        siege.look()


def test_a_slow_disk(frail: Doomed, shim: Shim) -> None:
    """A disk that takes its time changes nothing but the time."""
    siege = Siege(frail, seed=303)
    frail.start()
    with shim.ordered(Action.DELAY, Op.SYNC, File.WAL, value=30_000), siege.load():
        siege.work(20)
        frail.kill()
    assert shim.hits > 0
    frail.start()
    siege.look()
