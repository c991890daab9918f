"""What Gemini CLI has sent, by a model of its recording, is in the log, however often an import has looked."""

import os
from itertools import groupby
from pathlib import Path
from random import Random

import pytest

from reel.sync.client import Client
from tests.adapters.test_watched_agents import States
from tests.reel.importing.adding.test_growing import Import
from tests.reel.importing.gemini_recorder import Recorder
from tests.reel.importing.recording import SEEDS


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_session_that_is_recorded(client: Client, tmp_path: Path, seed: int) -> None:
    """Each request is a state of the log with its answer, and the conversation is that of an import at the end."""
    chance, root = Random(seed), tmp_path / "root"
    watch, fresh = (Import(client, "gemini-cli", root, tmp_path / seen) for seen in ("watched", "fresh"))
    often, is_torn, lines = chance.choice([0, 1 / 20, 1 / 3, 1]), chance.random() < 1 / 3, 0
    root.mkdir()

    def write(line: str, number: int) -> None:
        nonlocal lines
        path, data, lines = root / f"session-{number}.jsonl", line.encode(), lines + 1
        cuts = [chance.randrange(1, len(data))] if is_torn and chance.random() < often else []
        for first, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            with path.open("ab") as file:
                file.write(data[first:end])
            os.utime(path, (1_785_000_000 + lines, 1_785_000_000 + lines))
            if cuts or chance.random() < often:
                watch.look()

    recorder = Recorder(f"recorded-{seed}", Random(seed), write)
    recorder.work(chance.randrange(1, 6))
    watch.look()
    states, said = States(client).of("gemini-cli", "gemini"), watch.said("gemini-cli/")
    watch.purge("gemini-cli/")
    fresh.look()
    said_at_once = fresh.said("gemini-cli/")
    fresh.purge("gemini-cli/")

    assert [] == [blocks for blocks in map(_told_once, recorder.sent) if blocks not in states]
    assert said_at_once == said


def _told_once(blocks: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """Return blocks with each result once, in the order of their calls: a session that is resumed sends some twice."""
    runs = (list(run) for _, run in groupby(blocks, lambda block: block[0]))
    return tuple(block for run in runs for block in (sorted({*run}) if run[0][0] == "result" else run))
