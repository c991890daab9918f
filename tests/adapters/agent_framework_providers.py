"""A plugin for the Agent Framework's own tests: our history provider in the place of those in memory and in files.

``REEL_SOCKET`` is the socket of the daemon. Each test has sessions of its own, as with the framework's providers.
"""

import os
import sys
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import agent_framework
import pytest

from reel.integrations.agent_framework import ReelHistoryProvider

# How files are written.
_OF_FILES = ("serialization_format", "dumps", "loads")
_NUMBERS = count()
_test = ""


class InMemoryHistoryProvider(ReelHistoryProvider):
    """Ours, made as theirs in memory is made."""

    DEFAULT_SOURCE_ID = agent_framework.InMemoryHistoryProvider.DEFAULT_SOURCE_ID

    def __init__(self, source_id: str | None = None, **options: Any) -> None:
        super().__init__(source_id or self.DEFAULT_SOURCE_ID, prefix=f"{_test}/", **options)


class FileHistoryProvider(ReelHistoryProvider):
    """Ours, made as theirs in files is made: each directory has sessions of its own."""

    DEFAULT_SOURCE_ID = agent_framework.FileHistoryProvider.DEFAULT_SOURCE_ID
    DEFAULT_SESSION_FILE_STEM = agent_framework.FileHistoryProvider.DEFAULT_SESSION_FILE_STEM

    def __init__(self, storage_path: str | Path, *, source_id: str = DEFAULT_SOURCE_ID, **options: Any) -> None:
        place = sha256(str(storage_path).encode()).hexdigest()[:8]
        ours = {name: value for name, value in options.items() if name not in _OF_FILES}
        super().__init__(source_id, prefix=f"{_test}/{place}/", **ours)


def _replace() -> None:
    """Put our classes wherever the framework's modules have theirs."""
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0] == "agent_framework":
            for ours in (InMemoryHistoryProvider, FileHistoryProvider):
                if ours.__name__ in vars(module):
                    setattr(module, ours.__name__, ours)


_replace()


@pytest.fixture(autouse=True)
def _sessions_of_its_own() -> None:
    global _test  # noqa: PLW0603 - theirs are made without a word of the test
    _test = f"t{os.getpid()}-{next(_NUMBERS)}"
