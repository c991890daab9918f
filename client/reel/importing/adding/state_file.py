"""Writes the files in which an import remembers what it did."""

import json
import os
from pathlib import Path


def replace(path: str, content: object) -> None:
    """Replace a JSON file as a whole; only its owner can read it.

    Raises:
        OSError: the file cannot be written.
    """
    new = f"{path}.{os.getpid()}"  # two imports may write at once
    Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        Path(new).replace(path)
    except OSError:
        Path(new).unlink(missing_ok=True)
        raise
