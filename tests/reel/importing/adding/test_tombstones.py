"""What was purged, so that an import does not bring it back."""

import json
import stat
from pathlib import Path

import pytest

from reel.importing.adding.tombstones import Tombstones


def test_what_was_purged(tmp_path: Path) -> None:
    """It is known in later runs until it is brought back, and only for the daemon in which it was purged."""
    path = str(tmp_path / "state" / "purged.json")
    Tombstones(path, "/a").add(["codex/1", "codex/2"])
    Tombstones(path, "/a").remove(["codex/2", "codex/3"])

    assert [True, False, False] == [Tombstones(path, "/a").has(f"codex/{number}") for number in (1, 2, 3)]
    assert not Tombstones(path, "/b").has("codex/1")


def test_the_file_tells_nothing(tmp_path: Path) -> None:
    """It has no names, only its owner can read it, and another key makes another hash of the same name."""
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in paths:
        Tombstones(str(path), "/a").add(["codex/secret"])
    kept = [json.loads(path.read_text()) for path in paths]

    assert "secret" not in paths[0].read_text()
    assert 0o600 == stat.S_IMODE(paths[0].stat().st_mode)
    assert kept[0]["dates"].keys().isdisjoint(kept[1]["dates"])


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"key": 7, "dates": {}}', '{"key": "ff", "dates": {"a": "b"}}'])
def test_a_damaged_file(tmp_path: Path, content: str) -> None:
    """A file that cannot be read is as none, and is written anew."""
    path = tmp_path / "purged.json"
    path.write_text(content)
    stones = Tombstones(str(path), "/a")

    assert not stones.has("codex/1")
    stones.add(["codex/1"])
    assert Tombstones(str(path), "/a").has("codex/1")
