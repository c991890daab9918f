"""The command backup: where the copy is, and what is said of it."""

from pathlib import Path

import pytest

from .conftest import Reel


def test_a_backup(reel: Reel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is one of the caller's directory; the size is said."""
    monkeypatch.chdir(tmp_path)
    ran = reel("backup", "copy.db")
    size = (tmp_path / "copy.db").stat().st_size

    assert (0, f"{tmp_path}/copy.db: {size:,} bytes\n", "") == ran
    assert [{"path": f"{tmp_path}/2.db", "bytes": size}] == reel("backup", "2.db", "--json").documents


def test_a_file_that_exists(reel: Reel, tmp_path: Path) -> None:
    """A file is never replaced, and the error says what to do."""
    taken = tmp_path / "copy.db"
    taken.write_text("precious")

    assert (1, "", f"reel: invalid_params: path: {taken} exists; name a new file\n") == reel("backup", str(taken))
    assert "precious" == taken.read_text()
