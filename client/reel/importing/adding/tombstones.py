"""Remembers which imported conversations were purged, so that an import does not bring them back.

A tombstone is a keyed hash of where the conversation came from, and a date: nobody can tell from the file what was in
it, nor try names without the key beside it. Each daemon has its own, because another one may want the conversation.
"""

import hmac
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from reel.importing.adding import state_file

# The file, in the state directory.
NAME = "purged.json"
_KEY_BYTES = 32


class Tombstones:
    """The tombstones of a daemon.

    Args:
        path: the file that stores them.
        daemon: the address of the daemon.
    """

    def __init__(self, path: str, daemon: str) -> None:
        self._path = path
        self._daemon = daemon
        self._key = os.urandom(_KEY_BYTES).hex()
        self._dates: dict[str, str] = {}
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            kept = json.loads(Path(path).read_text(encoding="utf-8"))
            key, dates = kept["key"], kept["dates"].items()
            if type(key) is str and len(bytes.fromhex(key)) == _KEY_BYTES:
                self._key, self._dates = key, {str(name): str(date) for name, date in dates}

    def has(self, conversation: str) -> bool:
        """Return whether a conversation was purged."""
        return self._hash(conversation) in self._dates

    def add(self, conversations: Iterable[str]) -> None:
        """Remember that conversations were purged.

        Raises:
            OSError: the file cannot be written.
        """
        today = datetime.now(UTC).date().isoformat()
        self._save(self._dates | {self._hash(name): today for name in conversations})

    def remove(self, conversations: Iterable[str]) -> None:
        """Forget that conversations were purged: they were brought back.

        Raises:
            OSError: the file cannot be written.
        """
        back = {self._hash(name) for name in conversations}
        if back & self._dates.keys():
            self._save({name: date for name, date in self._dates.items() if name not in back})

    def _hash(self, conversation: str) -> str:
        said = f"{self._daemon}\0{conversation}".encode("utf-8", "replace")
        return hmac.new(bytes.fromhex(self._key), said, sha256).hexdigest()

    def _save(self, dates: dict[str, str]) -> None:
        self._dates = dates
        state_file.replace(self._path, {"key": self._key, "dates": dates})
