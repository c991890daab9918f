"""Where OpenHands keeps its conversations: a directory for each, with a file for each event."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

STATE, EVENTS = "base_state.json", "events"
_EVENT = re.compile(r"event-(\d{5,})-[0-9a-fA-F-]{8,}\.json")


def places(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the place of the conversations."""
    named, above = environment.get("OPENHANDS_CONVERSATIONS_DIR"), environment.get("OPENHANDS_PERSISTENCE_DIR")
    home = Path(environment.get("HOME", "/")) / ".openhands"
    yield Path(named) if named else (Path(above) if above else home) / "conversations"


def number_of(name: str) -> int | None:
    """Return the number of an event, from the name of its file; ``None`` if the name has none."""
    found = _EVENT.fullmatch(name)
    return int(found[1]) if found is not None else None


def directory_of(path: Path) -> Path:
    """Return the directory of the conversation that a file belongs to."""
    return path.parent.parent if path.parent.name == EVENTS else path.parent


def event_files(path: str) -> list[str]:
    """Return the files of the events of a conversation, in their order.

    Args:
        path: a file of the conversation.

    Raises:
        OSError: the directory cannot be read.
    """
    below = directory_of(Path(path)) / EVENTS
    found = [(number, one) for one in below.iterdir() if (number := number_of(one.name)) is not None]
    return [str(one) for _, one in sorted(found) if not one.is_symlink()]
