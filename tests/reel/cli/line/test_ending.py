"""Signals that end a command as Ctrl-C does."""

import signal
from collections.abc import Callable

import pytest

from reel.cli.line.ending import ended_by_signals
from reel.cli.line.exits import Ended


def test_only_the_first_signal_is_raised_at_once() -> None:
    """A closed terminal often sends two: the second does not break off what is done about the first."""
    done = []

    def work() -> None:
        with ended_by_signals():
            try:
                signal.raise_signal(signal.SIGTERM)
            finally:
                signal.raise_signal(signal.SIGHUP)
                done.append("added")

    assert 143 == _status_of(work)
    assert ["added"] == done


def test_a_signal_waits_while_an_answer_is_added() -> None:
    """It is raised at the end of the block."""
    done = []

    def work() -> None:
        with ended_by_signals() as ending:
            ending.defer()
            signal.raise_signal(signal.SIGHUP)
            done.append("added")

    assert 129 == _status_of(work)
    assert ["added"] == done


def _status_of(work: Callable[[], None]) -> int:
    with pytest.raises(Ended) as raised:
        work()
    return raised.value.status


def test_the_handlers_are_put_back() -> None:
    """After the block, the signals do what they did before."""
    before = signal.getsignal(signal.SIGTERM)
    with ended_by_signals():
        assert signal.getsignal(signal.SIGTERM) is not before

    assert before is signal.getsignal(signal.SIGTERM)
