"""Commands that write many rows: where their rows are staged."""

import threading
from typing import Any

import pytest

from reel.wire.msgpack_codec import packer
from reeld.agents import many_rows
from reeld.core.conversation import Conversation
from reeld.core.stage import Stage
from reeld.core.state import State
from tests.reeld.store.making import profile


@pytest.mark.parametrize(("count", "same"), [(2, False), (1, True)])
async def test_many_rows_are_staged_in_a_thread(monkeypatch: pytest.MonkeyPatch, count: int, same: bool) -> None:
    """What stages many rows runs in a thread, with a packer of its own; few rows are staged at once."""
    monkeypatch.setattr(many_rows, "_MANY", 2)
    pack = packer()
    stage = Stage(State(profile(), Conversation()), 0, pack)

    def put() -> dict[str, Any]:
        return {"thread": threading.get_ident(), "pack": stage.pack}

    found = await many_rows.put(stage, count, put)
    assert (same, same) == (found["thread"] == threading.get_ident(), found["pack"] is pack)
