"""Looks for what other daemons have committed."""

import pytest

from reel.base.errors import Busy
from reeld.store import queries
from reeld.store.store import open_store
from tests.postgres import own_schema

pytestmark = pytest.mark.slow


async def test_a_look_without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asked is refused, and the daemon goes on."""

    def fail(*_: object) -> bool:
        raise MemoryError

    with own_schema() as url:
        async with open_store(url) as store:
            with monkeypatch.context() as patch:
                patch.setattr(queries, "is_current", fail)
                with pytest.raises(Busy, match="not enough memory"):
                    await store.be_current()
            await store.be_current()
