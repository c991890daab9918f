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
# Seconds between two attempts at most; each time it is twice as long. An attempt may launch a daemon that cannot start.
LONGEST = 5.0


def retry_until_running(
    ctx: Context, ask: Callable[[], R], lost: Callable[[], None] | None = None, longest: float = LONGEST
) -> R:
    """Try again until the daemon is running.

    Args:
        ctx: the command's context.
        ask: what may fail because the daemon does not run.
        lost: called if it fails.
        longest: the most seconds between two attempts.
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
            wait_for_daemon(ctx, longest)
            ctx.out.warn("the daemon is back")


def wait_for_daemon(ctx: Context, longest: float = LONGEST) -> None:
    """Wait until a daemon answers.

    Args:
        ctx: the command's context.
        longest: the most seconds between two attempts.
    """
    interval = RETRY_INTERVAL
    while True:
        time.sleep(interval)  # nothing signals that it is back
        with suppress(NotRunning, Timeout):
            ctx.client.ping()
            return
        interval = min(interval * 2, longest)
