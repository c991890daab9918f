"""Finds the agents whose title or tags have what is removed."""

import json
from collections.abc import Iterable

from reeld.core.redaction import Redaction
from reeld.store.connection import Connection
from reeld.store.erasures import Labels


def redacted_labels(connection: Connection, redaction: Redaction, rows: Iterable[int]) -> list[Labels]:
    """Return the new titles and tags of those of some agents in which something is removed."""
    made = []
    for row in rows:
        found = connection.execute("SELECT title, tags FROM agents WHERE id = ?", (row,)).fetchone()
        if found is None:  # the file is of an older version
            continue
        title, tags = found
        changed = redaction.title(title), redaction.value(json.loads(tags))
        if changed != (title, json.loads(tags)):
            made.append(Labels(row, changed[0], json.dumps(changed[1], ensure_ascii=False)))
    return made
