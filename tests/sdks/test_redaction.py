"""What is redacted of a session of a framework by the seqs of its messages is in no file any more."""

import os
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.patience import PATIENCE
from tests.sdks.played import Played

_NUMBERS = count()

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL"),
]


def test_copies_go_with_the_messages(played: Played, client: Client, daemon: Daemon) -> None:
    """A question and what the framework keeps of it are redacted together; the session goes on."""
    first = 700 + 10 * next(_NUMBERS)  # no two sessions of a daemon say the same
    secret = f"question {first}"
    for number in range(first * played.steps, (first + 2) * played.steps):
        played.step(number)
    seqs = [message["seq"] for message in client.iter_messages(played.agent) if secret in str(message)]
    assert 1 == len(seqs)

    environment = {**os.environ, "REEL_SOCKET": daemon.socket}
    command = [sys.executable, "-c", "from reel.cli import process; process()", "redact", played.agent, "--yes"]
    done = subprocess.run(
        [*command, "--seq", str(seqs[0])],
        check=True,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )

    assert "still have" not in done.stderr
    assert [] == [event["seq"] for event in client.iter_history(played.agent) if secret in str(event)]
    client.stats()
    files = [path.name for path in Path(daemon.database).parent.glob("r.db*") if secret.encode() in path.read_bytes()]
    assert [] == files
    for number in range((first + 2) * played.steps, (first + 3) * played.steps):
        played.step(number)
    assert secret not in str(played.ours(played.live))
    assert f"question {first + 2}" in str(played.ours(played.live))
    assert [] == [event["seq"] for event in client.iter_history(played.agent) if secret in str(event)]
