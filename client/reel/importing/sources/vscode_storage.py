"""Where VS Code, and the editors that were made from it, keep what belongs to a person."""

from collections.abc import Iterator, Mapping
from pathlib import Path

_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_SERVERS = (".vscode-server/data", ".vscode-server-insiders/data", ".cursor-server/data")


def user_directories(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the person's directory of each editor, also of a server that runs for an editor on another machine."""
    home = Path(environment.get("HOME", "/"))
    configured = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    for base in (configured, home / "Library/Application Support"):
        yield from (base / editor / "User" for editor in _EDITORS)
    yield from (home / server / "User" for server in _SERVERS)
