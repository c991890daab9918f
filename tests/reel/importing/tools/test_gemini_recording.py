"""What Gemini CLI has sent, by a model of its recording, is in the log, however often an import has looked."""

from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.reel.importing.gemini_recorder import GeminiCli
from tests.reel.importing.recording import SEEDS, check


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_session_that_is_recorded(client: Client, tmp_path: Path, seed: int) -> None:
    """Each request is a state of the log with its answer, and the conversation is that of an import at the end."""
    check(client, tmp_path, GeminiCli, seed)
