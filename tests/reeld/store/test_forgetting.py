"""Purged agents are forgotten in slices, between which others commit."""

from itertools import pairwise
from typing import Any

import pytest

from reeld.store import forgetting
from reeld.store.connection_thread import Job
from reeld.store.plans import carry_out_between
from reeld.store.store import Store
from tests.reeld.store.making import key, made, write


async def keys(store: Store) -> list[str]:
    """Return the keys that are there."""
    rows = await store.read(lambda connection: connection.execute("SELECT key FROM keys ORDER BY id").fetchall())
    return [name for (name,) in rows]


@pytest.mark.parametrize("looked_at", [3, 100])
async def test_few_keys_at_once(store: Store, monkeypatch: pytest.MonkeyPatch, looked_at: int) -> None:
    """A slice deletes few keys, however many it looks at: in the index, each may be on a page of its own."""
    monkeypatch.setattr(forgetting, "_KEYS", 2)
    monkeypatch.setattr(forgetting, "_LOOKED_AT", looked_at)
    own = [key(f"{number}", row=1 if number % 4 else 2) for number in range(20)]
    await write(store, made(1), made(2)._replace(keys=own))
    await store._database.run(
        lambda connection: connection.execute("UPDATE agents SET name = '' WHERE id = 1").rowcount
    )

    left = [await keys(store)]

    async def run(job: Job[Any]) -> Any:
        result = await store._database.run(job)
        left.append(await keys(store))
        return result

    await carry_out_between(forgetting.forget_purged(), run)

    assert 2 == max(len(before) - len(after) for before, after in pairwise(left))
    assert ["0", "4", "8", "12", "16"] == left[-1]
