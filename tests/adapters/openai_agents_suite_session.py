"""A plugin for the suite of OpenAI's Agents SDK: our session in the place of its session in SQLite.

It is loaded by its name alone, because the suite is a package ``tests`` as well.
"""

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import agents
from agents import memory

from reel.integrations.openai_agents import ReelSession


class Session(ReelSession):
    """A session as the tests make it: one file has the sessions of one prefix, and what is in memory has its own."""

    def __init__(
        self,
        session_id: str,
        db_path: str | Path = ":memory:",
        *_tables: str,
        session_settings: Any = None,
        **_more: Any,
    ) -> None:
        place = os.urandom(8).hex() if str(db_path) == ":memory:" else sha256(str(db_path).encode()).hexdigest()[:16]
        super().__init__(session_id, prefix=f"suite/{place}/", session_settings=session_settings)


for module in (agents, memory):
    module.SQLiteSession = Session
