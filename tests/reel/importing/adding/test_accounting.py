"""Which records of a source count as stored, and which as known."""

import pytest

from reel.importing.adding.accounting import KNOWN, STORED, Accounting
from reel.importing.steps import About, Back, Compacted, Counts, Kept, Part, Said, Step


def _said(line: int) -> Said:
    return Said("user", (Part(str(line), []),), {}, None, line)


def account(
    *events: int | tuple[Step, str], has_lines: bool = True, breaks_off: bool = False
) -> tuple[int, int, dict[str, int]]:
    """Return what is counted of the lines of records that are read, and of steps between them with their outcomes."""
    counts, accounting = Counts(), Accounting()
    for event in events:
        if isinstance(event, int):
            counts.line = event if has_lines else 0
            counts.map()
        else:
            accounting.take(counts, *event)
    if breaks_off:
        accounting.break_off(counts)
    accounting.end(counts)
    assert counts.read == counts.mapped + counts.known + counts.ignored.total()
    return counts.mapped, counts.known, dict(counts.ignored)


def test_a_record_counts_as_its_step() -> None:
    """A step is often yielded when the record after it was read: that one belongs to the next step."""
    assert (2, 3, {}) == account(1, (_said(1), KNOWN), 2, 3, 4, (_said(2), KNOWN), (_said(4), STORED), 5)


def test_a_source_without_lines() -> None:
    """A step is yielded before the next record is counted."""
    assert (1, 3, {}) == account(1, (_said(0), KNOWN), 2, 3, (_said(0), KNOWN), 4, (_said(0), STORED), has_lines=False)


def test_records_without_a_step() -> None:
    """A title counts as what is before it; at the beginning, as what is after it; alone, it is stored."""
    assert (0, 3, {}) == account(1, 2, (_said(2), KNOWN), 3)
    assert (3, 0, {}) == account(1, 2, (_said(2), STORED), 3)
    assert (2, 0, {}) == account(1, 2)


def test_records_of_which_nothing_became() -> None:
    """After a fault, the records behind that of the last step do not count; those before it do."""
    assert (1, 1, {}) == account(1, 2, 3, 4, (_said(1), KNOWN), (_said(2), STORED), breaks_off=True)
    assert (0, 0, {}) == account(1, 2, breaks_off=True)
    assert (1, 0, {}) == account(1, (_said(0), STORED), 2, has_lines=False, breaks_off=True)


@pytest.mark.parametrize("step", [Kept("note", "n", None, {}, None, 2), Compacted(_said(2))])
def test_each_kind_of_step(step: Step) -> None:
    """A note and a summary count as messages do; a conversation that is left alone is a rule of its own."""
    assert (1, 0, {"alone": 2}) == account(
        1, (_said(1), STORED), (Back(""), KNOWN), 2, 3, (About(), "x"), (step, "alone")
    )
