"""What an adapter remembers of a few sessions."""

from reel.integrations.newest import Newest


def test_what_was_set_first_goes() -> None:
    """A value that is set again is the newest one."""
    newest = Newest[str, int](2)
    newest["a"] = 1
    newest["b"] = 2
    newest["a"] = 3
    newest["c"] = 4

    assert [("a", 3), ("c", 4)] == [*newest.items()]


def test_a_value_that_was_taken_out() -> None:
    """What is taken out makes room."""
    newest = Newest[str, int](1)
    newest["a"] = 1

    assert 1 == newest.pop("a")
    assert {} == newest
