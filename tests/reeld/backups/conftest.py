"""A database and a backup of it."""

from functools import partial
from pathlib import Path

import anyio
import pytest

from reeld.store.transactions import Transaction
from tests.reeld.store.making import event, said, sound, written


def write(path: str, *transactions: Transaction, backup: str | None = None) -> None:
    """Open a database, write to it, make a backup if wanted, and close it."""
    anyio.run(partial(written, path, *transactions, backup=backup), backend="trio")


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The path of a database with three agents, which is closed."""
    path = str(tmp_path / "reel.db")
    write(path, sound(1, event(2), event(3)), sound(2, event(2)), sound(3))
    return path


@pytest.fixture
def backup(path: str, tmp_path: Path) -> str:
    """A backup, after which the first agent got two more messages, and a fourth one was created."""
    copied = str(tmp_path / "backups" / "copy.db")
    (tmp_path / "backups").mkdir()
    write(path, backup=copied)
    write(path, said(1, event(4), event(5)), sound(4, event(2)))
    return copied
