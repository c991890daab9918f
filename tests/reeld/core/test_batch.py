"""What is done at the end of a batch."""

import pytest

from reeld.core.batch import Batch


def test_what_was_noted_is_done_at_the_end() -> None:
    """Functions are called at the end of the outermost block, in order; what they note in turn is done as well."""
    batch = Batch()
    done: list[str] = []

    def second() -> None:
        done.append("second")
        batch.note(lambda: done.append("third"))

    with batch:
        with batch:
            assert batch.note(lambda: done.append("first"))
        assert batch.note(second)
        assert [] == done

    assert ["first", "second", "third"] == done


def test_outside_of_a_batch_nothing_is_noted() -> None:
    """A function that cannot be called at the end of a batch is not taken."""
    assert not Batch().note(lambda: None)


def test_a_batch_that_fails_ends_as_well() -> None:
    """What was noted is done even if the rest of the batch fails."""
    batch = Batch()
    done: list[int] = []

    def fail() -> None:
        with batch:
            batch.note(lambda: done.append(1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert [1] == done
    assert not batch.note(lambda: None)


def test_what_is_urgent_is_done_first() -> None:
    """An urgent function is called before those that are not, also if it was noted later."""
    batch = Batch()
    done: list[str] = []

    with batch:
        batch.note(lambda: done.append("any"))
        batch.note(lambda: done.append("urgent"), urgent=True)

    assert ["urgent", "any"] == done


def test_a_bug_leaves_the_rest_to_the_next_batch() -> None:
    """If a function fails at the end of a batch, those after it are called at the end of the next one."""
    batch = Batch()
    done: list[int] = []

    def fail() -> None:
        raise ZeroDivisionError

    def run() -> None:
        with batch:
            batch.note(fail)
            batch.note(lambda: done.append(1))

    with pytest.raises(ZeroDivisionError):
        run()
    assert [] == done
    with batch:
        pass

    assert [1] == done
