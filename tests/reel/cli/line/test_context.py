"""The context of a command: a hint is shown the first times only."""

from pathlib import Path

import pytest

from reel.cli.line.context import is_among_first


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which it is noted what was shown."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "reel"


def test_hint_is_shown_three_times() -> None:
    """Each hint is counted by itself."""
    assert [True, True, True, False] == [is_among_first("add") for _ in range(4)]
    assert is_among_first("new")


def test_place_that_cannot_be_written(state: Path) -> None:
    """If nothing can be noted, the hint is shown every time."""
    state.write_text("a file where the directory would be")

    assert [True] * 4 == [is_among_first("add") for _ in range(4)]
