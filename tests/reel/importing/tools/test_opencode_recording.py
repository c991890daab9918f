"""What opencode has sent, by a model of its recording, is in the log, however often an import has looked."""

from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.reel.importing.opencode_recorder import Opencode
from tests.reel.importing.opencode_second_recorder import OpencodeSecond
from tests.reel.importing.recording import SEEDS, check


@pytest.mark.slow
@pytest.mark.parametrize("version", [Opencode, OpencodeSecond])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_session_that_is_recorded(client: Client, tmp_path: Path, seed: int, version: type[Opencode]) -> None:
    """Each request is a state of the log with its answer, and the conversation is that of an import at the end."""
    check(client, tmp_path, version, seed)
