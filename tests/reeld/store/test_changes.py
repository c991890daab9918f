"""What clients see without a request."""

import os

import pytest

from reeld.store.changes import Changes
from reeld.store.transactions import Transaction
from tests.reeld.store.making import event, made, said


def counters(changes: Changes) -> tuple[int, list[int]]:
    """Return the counter of what may change any agent, and those of agents that are not zero."""
    _, of_any, *of_agents = changes._counts
    return of_any, [count for count in of_agents if count]


def test_what_is_counted() -> None:
    """Each event counts for its agent; what changes the meaning of a name counts for all."""
    changes, new = Changes(), made(1)
    later = new._replace(parts=[new.parts[0]._replace(new=False, changed=False)])

    changes.note(later)
    changes.note(later)
    assert (0, [2]) == counters(changes)
    changes.note(new)
    assert (1, [3]) == counters(changes)
    changes.note(later._replace(parts=[later.parts[0]._replace(changed=True)]))
    assert (2, [4]) == counters(changes)
    changes.note(said(1, event(2), event(3)))
    assert (2, [6]) == counters(changes)
    changes.note(Transaction([], []))
    assert (2, [6]) == counters(changes)
    changes.note_any()
    assert (3, [6]) == counters(changes)


def test_what_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file has what is offered, and others cannot be taken for it; without such files, nothing is offered."""
    one, other = Changes(), Changes()
    assert one.offer is not None
    assert other.offer is not None
    assert (one.offer["counters"] + 2) * 8 == os.path.getsize(one.offer["path"])
    assert one.offer["id"] != other.offer["id"]

    monkeypatch.delattr(os, "memfd_create")
    without = Changes()
    assert without.offer is None
    without.note(made(1))
    assert 1 == counters(without)[0]


@pytest.mark.parametrize("call", ["memfd_create", "ftruncate"])
def test_what_is_forbidden(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """A system that lets the daemon have no such file, as a sandbox may, keeps it from nothing else."""

    def refuse(*_: object) -> int:
        raise PermissionError

    files = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(os, call, refuse)

    assert Changes().offer is None
    assert files == len(os.listdir("/proc/self/fd"))


def test_its_file_is_closed() -> None:
    """The file goes with the object."""
    changes = Changes()
    assert changes.offer is not None
    path = changes.offer["path"]
    del changes

    assert not os.path.exists(path)
