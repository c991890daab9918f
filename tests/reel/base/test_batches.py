"""Values that are taken some at a time, and converted so."""

import pytest

from reel.base.batches import converted


def test_values_before_an_error() -> None:
    """What was converted before an error comes before it, and batches stay as they are."""
    found: list[list[int]] = []
    taking = map(found.append, converted([["1", "2"], ["3", "4", "none", "5"], ["6"]], int))
    with pytest.raises(ValueError, match="none"):
        list(taking)

    assert [[1, 2], [3, 4]] == found
