"""When a backup is due by itself, what it is called, and which it replaces."""

import pytest

from reeld.backups.schedule import files_in, is_due, is_overdue, name_at, next_look, series_of, superfluous

HOUR = 3_600_000
NOON = 1_795_435_200_000  # 2026-11-23, 12:00 UTC


def test_names() -> None:
    """A name says when the backup was begun and whether it is damaged; other files are not read as backups."""
    names = [name_at(NOON), name_at(NOON + HOUR, is_damaged=True)]

    assert ["20261123T120000Z.db", "20261123T130000Z-damaged.db"] == names
    others = ["reel.db", "20261399T120000Z.db", "20261123T120000Z.db.tmp", ".reel-backup-x"]
    assert files_in([*names, *others], NOON + HOUR) == [(names[1], NOON + HOUR, True), (names[0], NOON, False)]


def test_a_series_for_each_database() -> None:
    """Daemons with the same settings do not replace each other's backups."""
    assert series_of("/b", "/one/reel.db") != series_of("/b", "/two/reel.db")
    assert series_of("/b", "/one/reel.db").startswith("/b/reel-")


@pytest.mark.parametrize(
    ("ages", "due"), [([], True), ([1], False), ([24], True), ([30, 5], False), ([-2], True), ([-2, 3], False)]
)
def test_when_it_is_due(ages: list[int], due: bool) -> None:
    """A backup is due so many hours after the newest; one of the future was made by a clock that was wrong."""
    files = files_in([name_at(NOON - age * HOUR) for age in ages], NOON)

    assert is_due(files, 24, NOON) == due


def test_a_damaged_backup_counts_as_made() -> None:
    """A damaged database is not copied again and again."""
    assert not is_due(files_in([name_at(NOON, is_damaged=True)], NOON), 24, NOON + HOUR)


def test_what_is_replaced() -> None:
    """The newest sound backups stay, and the newest damaged one."""
    sound = [name_at(NOON + day * 24 * HOUR) for day in range(4)]
    damaged = [name_at(NOON + day * 24 * HOUR, is_damaged=True) for day in range(4, 7)]
    gone = superfluous(files_in([*sound, *damaged], NOON + 7 * 24 * HOUR), 2)

    assert gone == [sound[1], sound[0], damaged[1], damaged[0]]


def test_backups_of_the_future_replace_nothing() -> None:
    """After the clock was set back, a new backup stays, and so do those that the wrong clock dated."""
    files = files_in([name_at(NOON + hours * HOUR) for hours in (-48, -24, 0, 24, 48)], NOON)

    assert superfluous(files, 2) == [name_at(NOON - 48 * HOUR)]


@pytest.mark.parametrize(("hours", "overdue"), [(24, False), (47, False), (48, True)])
def test_when_it_is_overdue(hours: int, overdue: bool) -> None:
    """It is noticed if a backup is missing although none has failed."""
    assert is_overdue(NOON, 24, NOON + hours * HOUR) == overdue


def test_the_pause_after_failures() -> None:
    """Each failure doubles the pause, up to an hour."""
    assert [60, 60, 120, 240, 3600, 3600] == [next_look(failures) for failures in (0, 1, 2, 3, 7, 100)]
