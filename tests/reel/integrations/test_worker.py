"""Calls of a blocking client, awaited from async programs."""

import asyncio
import threading

import pytest

from reel.integrations.worker import Worker
from reel.sync.client import Client


@pytest.mark.parametrize("error", [None, ValueError("no")])
def test_a_cancelled_call_settles(error: Exception | None) -> None:
    """The cancellation comes when the call is done, and names the error if there was one."""
    begun, go_on, done = threading.Event(), threading.Event(), threading.Event()

    def work(_client: Client) -> None:
        begun.set()
        go_on.wait()
        done.set()
        if error is not None:
            raise error

    async def cancel() -> None:
        call = asyncio.ensure_future(Worker("/nowhere", autostart=False, name="test").run(work))
        await asyncio.to_thread(begun.wait)
        call.cancel()
        await asyncio.wait([call], timeout=0)
        assert not call.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await call
        assert done.is_set()
        assert error is cancelled.value.__cause__

    asyncio.run(cancel())
