"""The server and its daemon: one that is restarted is waited for, and one that does not run is named."""

import pytest

from tests import daemon_fixtures
from tests.daemon import Daemon
from tests.reel.mcp.asking import asker

pytestmark = pytest.mark.slow
# Each test has its own, as they end it.
daemon, prepared, directory = daemon_fixtures.daemon, daemon_fixtures.prepared, daemon_fixtures.directory


async def test_a_daemon_that_is_restarted(daemon: Daemon) -> None:
    """A call after a restart, and one after a crash, are answered as before."""
    with daemon.client() as client:
        client.add("kept", "still here", create=True)
    async with asker(daemon) as ask:
        before = await ask("read", conversation="kept")
        daemon.end()
        daemon.start()
        restarted = await ask("read", conversation="kept")
        daemon.kill()
        daemon.start()
        crashed = await ask("read", conversation="kept")

    assert all("still here" in found.quoted for found in (before, restarted, crashed))


async def test_no_daemon(prepared: Daemon) -> None:
    """Without a daemon, a call is an error that says so, and the next one finds the daemon that was started since."""
    async with asker(prepared) as ask:
        missing = await ask("conversations")
        prepared.start()
        found = await ask("conversations")

    assert missing.is_error
    assert prepared.socket in missing.text
    assert not found.is_error
