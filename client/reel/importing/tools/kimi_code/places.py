"""Where Kimi Code keeps its sessions: a directory for each, with one for each of its agents."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from reel.base.light_typing import NamedTuple
from reel.importing.tools.kimi_code.parts import NAME
from reel.importing.values import name_of

FILE = "wire.jsonl"
_AGENTS, _MAIN, _STATE, _PREFIX = "agents", "main", "state.json", "session_"


def places(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the place of the sessions."""
    home = environment.get("KIMI_CODE_HOME")
    yield (Path(home) if home else Path(environment.get("HOME", "/")) / ".kimi-code") / "sessions"


class Place(NamedTuple):
    """What the place of a log tells: the name of its conversation, and of that of the agent that started it."""

    name: str
    parent: str = ""


def place_of(path: Path) -> Place:
    """Return what the place of a log tells."""
    agent = path.parent
    if agent.parent.name != _AGENTS:
        return Place(name_of(NAME, agent.name))
    session = agent.parent.parent.name.removeprefix(_PREFIX)
    if agent.name == _MAIN:
        return Place(name_of(NAME, session))
    return Place(name_of(NAME, session, agent.name), name_of(NAME, session))


def state_beside(path: str) -> Path:
    """Return the file with what is known of the session of a log as a whole."""
    agent = Path(path).parent
    return (agent.parent.parent if agent.parent.name == _AGENTS else agent) / _STATE
