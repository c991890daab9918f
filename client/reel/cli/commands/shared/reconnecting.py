"""How commands that run until they are interrupted wait for a daemon that is restarted."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from reel.base.errors import NotRunning, Timeout
from reel.cli.line.context import Context
from reel.daemon.peer import RETRY_INTERVAL

R = TypeVar("R")


def retry_until_running(ctx: Context, ask: Callable[[], R], lost: Callable[[], None] | None = None) -> R:
    """Try again until the daemon is running.

    Args:
        ctx: the command's context.
        ask: what may fail because the daemon does not run.
        lost: called if it fails.
    """
    while True:
        try:
            return ask()
        except NotRunning:
            ctx.out.transient(())
            sys.stdout.flush()
            ctx.out.warn("lost the connection to the daemon; waiting for it to come back")
            if lost is not None:
                lost()
            _wait_for_daemon(ctx)
            ctx.out.warn("the daemon is back")


def _wait_for_daemon(ctx: Context) -> None:
    """Wait until a daemon answers."""
    while True:
        time.sleep(RETRY_INTERVAL)  # nothing signals that it is back
        with suppress(NotRunning, Timeout):
            ctx.client.ping()
            return
