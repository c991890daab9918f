"""What is large is freed a little at a time."""

from typing import Any

from reeld.core.freeing import let_go


class Counted(list[int]):
    """A list that counts the items of each deletion."""

    def __init__(self, items: range) -> None:
        super().__init__(items)
        self.deleted: list[int] = []

    def __delitem__(self, index: Any) -> None:
        before = len(self)
        super().__delitem__(index)
        self.deleted.append(before - len(self))


def test_a_long_list_is_freed_in_steps() -> None:
    """No step frees more than a few thousand items, and none is left."""
    items = Counted(range(100_001))

    let_go(items)

    assert [] == items
    assert 100_001 == sum(items.deleted)
    assert max(items.deleted) <= 2000
