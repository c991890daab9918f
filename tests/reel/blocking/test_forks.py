"""What the blocking client does after a fork."""

import subprocess
import sys

import pytest

from tests.daemon import Daemon
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow

_CLIENT = """
import os, sys
import reel

with reel.connect(sys.argv[1]) as client:
    client.create("parent"), client.create("child")
    client._lock.acquire()  # as a thread that makes a call
    child = os.fork()
    name = "parent" if child else "child"
    if child:
        client._lock.release()
    found = [client.agent(name).name == name for _ in range(100)]
    client.add(name, "hi")
    if not child:
        os._exit(0 if all(found) else 1)
    sys.exit(0 if all(found) and os.waitpid(child, 0)[1] == 0 else 1)
"""

_SUBSCRIPTION = """
import os, sys
import reel

with reel.connect(sys.argv[1]) as client, client.subscribe("demo", since=0) as subscription:
    first = next(subscription).seq
    child = os.fork()
    if child:
        for _ in range(50):
            client.mark("demo")
    complete = [first, *(next(subscription).seq for _ in range(50))] == list(range(1, 52))
    if not child:
        os._exit(0 if complete else 1)
    _, status = os.waitpid(child, 0)
    client.mark("demo")
    sys.exit(0 if complete and status == 0 and next(subscription).seq == 52 else 1)
"""


def _exit_status(program: str, daemon: Daemon) -> int:
    command = [sys.executable, "-W", "ignore", "-c", program, daemon.socket]
    return subprocess.run(command, timeout=PATIENCE, check=False).returncode


def test_a_client_after_a_fork(daemon: Daemon) -> None:
    """Parent and child get their own replies, even if a thread of the parent had its turn during the fork."""
    assert 0 == _exit_status(_CLIENT, daemon)


def test_a_subscription_after_a_fork(daemon: Daemon) -> None:
    """Parent and child both get every event."""
    with daemon.client() as client:
        client.create("demo")

    assert 0 == _exit_status(_SUBSCRIPTION, daemon)
