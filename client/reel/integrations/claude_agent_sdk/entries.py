"""Checks the entries of transcripts before anything is added."""

from __future__ import annotations

import math
from typing import Any
from uuid import uuid4

from msgpack import packb

from reel.base.errors import InvalidMessage
from reel.base.strict_json import Json, encode, parse_bounded
from reel.importing.steps import Compacted, Kept
from reel.importing.tools.claude_code.entries import json_of, steps_of
from reel.importing.tools.claude_code.thread import Thread
from reel.importing.values import text_in
from reel.sync.client import Client
from reel.wire.frames import too_large

# An entry with less JSON than this, in characters, never exceeds the daemon's limits; and the bytes that a request may
# need around a message.
_SMALL = 1 << 20
_AROUND = 1 << 12
# The levels of lists and maps in an entry. Some of the code that reads it calls itself twice a level.
_DEEPEST = 400


def checked_entry(number: int, entry: Any) -> tuple[str, Json]:
    """Return an entry with its uuid, or with a generated id."""
    field = f"entries[{number}]"
    if type(entry) is not dict:
        raise InvalidMessage(f"{field}: expected a dict, got a {type(entry).__name__}", index=number, field=field)
    try:
        # Keys that are not texts become texts, as in a file of JSON.
        entry = parse_bounded(json_of(entry), _DEEPEST)
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(f"{field}: {error}", index=number, field=field) from None
    return text_in(entry, "uuid") or str(uuid4()), entry


def require_size(client: Client, ref: str, entry: Json) -> None:
    """Require that the messages of an entry fit the daemon's limit, before anything is added.

    Raises:
        TooLarge: one of its messages is longer.
    """
    if len(json_of(entry)) < _SMALL:
        return
    server = client.server or client.connect().server
    limit = server.limits["message"] - _AROUND if server is not None else math.inf
    for step in steps_of(entry, ref, Thread()):
        said = step.summary if isinstance(step, Compacted) else step
        size = len(encode(said.data, ascii_only=True)) if isinstance(said, Kept) else len(packb(said))
        if size > limit:
            raise too_large(int(limit), size)
