"""The garbage collector runs again after it was paused, whatever other threads do meanwhile."""

import gc

import pytest

from reel.base.garbage import uncollected


@pytest.mark.parametrize("is_enabled", [True, False])
def test_a_pause(is_enabled: bool) -> None:
    """It is paused in the block, and then as it was before."""
    (gc.enable if is_enabled else gc.disable)()
    try:
        with uncollected(), uncollected():
            assert not gc.isenabled()
        assert is_enabled is gc.isenabled()
    finally:
        gc.enable()


def test_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """If one thread ends its pause just when another one begins its own, the collector runs in the end."""
    first, is_enabled = uncollected(), gc.isenabled

    def look_and_be_interrupted() -> bool:
        found = is_enabled()
        first.__exit__(None, None, None)
        return found

    first.__enter__()
    monkeypatch.setattr(gc, "isenabled", look_and_be_interrupted)
    with uncollected():
        pass
    monkeypatch.undo()

    assert gc.isenabled()
