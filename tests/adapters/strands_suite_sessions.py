"""A plugin for the suite of Strands Agents: our sessions in the place of those in files, and of those in a mock.

It is loaded by its name alone, because the suite is a package ``tests`` as well.
"""

import os
import sys
from hashlib import sha256
from itertools import count
from typing import Any

from strands import session
from strands.session import file_session_manager

from reel.integrations.strands_agents import ReelSessionManager, ReelSessionRepository

_NUMBERS = count()


class FileSessionManager(ReelSessionManager):
    """A manager as the tests make it: each directory has sessions of its own."""

    def __init__(self, session_id: str, storage_dir: str | None = None, **_more: Any) -> None:
        place = sha256(str(storage_dir).encode()).hexdigest()[:16]
        super().__init__(session_id, prefix=f"suite/{place}/")


class MockedSessionRepository(ReelSessionRepository):
    """A repository as the tests make it: each has sessions of its own."""

    def __init__(self) -> None:
        super().__init__(prefix=f"suite/{os.getpid()}-{next(_NUMBERS)}/")


session.FileSessionManager = FileSessionManager
file_session_manager.FileSessionManager = FileSessionManager
sys.path.insert(0, "")

from tests.fixtures import (  # type: ignore[import-not-found]  # noqa: E402 - theirs, in the current directory
    mock_session_repository,
)

mock_session_repository.MockedSessionRepository = MockedSessionRepository
