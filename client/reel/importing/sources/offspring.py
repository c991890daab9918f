"""Sessions that a tool made from others, each a file of its own.

A session after a fork or a rewind begins with the messages of its origin, under the same ids. A session after a
compaction, or of a sub-agent, has none of them: it names its origin, but is not a fork.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from reel.base.light_typing import NamedTuple
from reel.importing.sources.companions import beginning, newest
from reel.importing.sources.files import Entry
from reel.importing.steps import Source, forks_last
from reel.importing.values import name_of

# The tag with the name of the conversation that a session was made from.
PARENT = "parent"
# The ids of a session and of its origin are in the first bytes of what a tool says about it.
_BEGINNING = 4096
_ID = re.compile(r'"session_id":\s*"([^"\\]+)"')
_PARENT_ID = re.compile(r'"parent_session_id":\s*"([^"\\]+)"')


class Offspring(NamedTuple):
    """A session, with the id that shows whether it is a fork.

    Args:
        source: its source; its tag ``parent`` names its origin.
        first: the id of its first message; empty if unknown.
    """

    source: Source
    first: str


def source_beside(tool: str, entry: Entry, about: Path, session: str) -> Source:
    """Return the source of a session, with its id and its origin as the file beside it says.

    Args:
        tool: the name of the tool.
        entry: the file of the session.
        about: the file beside it.
        session: the id of the session if that file does not say it.
    """
    head = beginning(about, _BEGINNING)
    session, parent = _first(_ID, head) or session, _first(_PARENT_ID, head)
    facts = {PARENT: name_of(tool, parent)} if parent and parent != session else {}
    modified = newest(entry.modified, about)
    return Source(str(entry.path), name_of(tool, session), entry.size, modified, about=facts)


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1] if found else ""


def with_forks(found: Iterable[Offspring]) -> list[Source]:
    """Return the sources, each fork after its origin; of a session that is in several files, the longest."""
    longest: dict[str, Offspring] = {}
    for one in found:
        name = one.source.conversation
        if name not in longest or one.source.size > longest[name].source.size:
            longest[name] = one
    firsts = {name: one.first for name, one in longest.items()}
    return forks_last(
        source._replace(fork_of=origin) if first and first == firsts.get(origin) else source
        for source, first in longest.values()
        for origin in (source.about.get(PARENT, ""),)
    )
