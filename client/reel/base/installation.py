"""How to install what is missing, for the way in which this package was installed.

A name such as ``reeld`` says nothing about who put it on an index. So the advice names where this installation came
from, as the installer recorded it (PEP 610), and the environment that it is in.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from reel.base.light_typing import TYPE_CHECKING
from reel.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# Some modules of the daemon are imported when they are first needed; after an update they may be newer than the others.
UPDATED = "reeld was updated while it was running; restart it with: reel stop; reel start"
_NAME = "reeld"
_VERSION = Path(__file__).resolve().parent.parent / "version.py"
_CHECKOUT = Path(__file__).resolve().parent.parent.parent.parent
# The files by which pipx and uv know the environment of a program, and the command that installs into it again.
_TOOLS = {"pipx_metadata.json": ("pipx", "install", "--force"), "uv-receipt.toml": ("uv", "tool", "install", "--force")}


def was_updated() -> bool:
    """Return whether another version is installed than the one that runs, or none any more."""
    try:
        text = _VERSION.read_text(encoding="utf-8")
    except OSError:
        return True
    return f'"{__version__}"' not in text


def install_command(extra: str = "") -> str:
    """Return the command that installs the daemon and the client, with all that they need, where this program runs.

    Args:
        extra: also what this extra of the package needs, such as ``postgres``.
    """
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - only if something is missing
    from json import loads  # noqa: PLC0415 - as above

    try:
        found = distribution(_NAME)
    except PackageNotFoundError:  # a checkout on the path
        return _command(_editable(_CHECKOUT, extra), "")
    origin = loads(found.read_text("direct_url.json") or "{}")
    return _command(_requirement(origin, extra), (found.read_text("INSTALLER") or "").strip())


def needs(module: str, package: str, extra: str = "") -> str:
    """Return the message for a module that cannot be imported without a package.

    Args:
        module: the module.
        package: what it needs.
        extra: the extra that brings it; empty for what every installation has.
    """
    return f"{module} needs {package}, which is not installed; install it with: {install_command(extra)}"


def _command(requirement: Sequence[str], installer: str) -> str:
    """Return the command that installs a requirement into the environment of this program."""
    import shlex  # noqa: PLC0415 - as above

    for file, command in _TOOLS.items():
        if Path(sys.prefix, file).is_file():
            return shlex.join([*command, *requirement])
    if installer == "uv":
        return shlex.join(["uv", "pip", "install", "--python", sys.executable, *requirement])
    pip = [sys.executable, "-m", "pip"] if find_spec("pip") else ["pip", "--python", sys.executable]
    return shlex.join([*pip, "install", *requirement])


def _requirement(origin: dict[str, Any], extra: str) -> list[str]:
    """Return what names this package where it came from.

    Args:
        origin: the content of ``direct_url.json``; empty if it came from an index.
        extra: as in :func:`install_command`.
    """
    url: str = origin.get("url", "")
    if origin.get("dir_info", {}).get("editable"):
        return _editable(_path_of(url), extra)
    name = f"{_NAME}[{extra}]" if extra else _NAME
    if not url:
        return [name]
    vcs = origin.get("vcs_info", {})
    at = f"{vcs['vcs']}+{url}@{vcs['commit_id']}" if vcs else url
    return [f"{name} @ {at}"]


def _editable(root: Path, extra: str) -> list[str]:
    return ["--editable", f"{root}[{extra}]" if extra else str(root)]


def _path_of(url: str) -> Path:
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415 - only here

    return Path(unquote(urlsplit(url).path))
