"""Which frameworks `make adapters` installs: ``python -m tests.adapters.versions``, with ``oldest`` or ``newest``.

With ``apart-oldest`` or ``apart-newest``, those that do not fit with the others, and have an environment of their own;
with ``later-oldest`` or ``later-newest``, those that need a later Python than we do.
"""

import re
import sys
import tomllib
from pathlib import Path

from reel.integrations.frameworks import FRAMEWORKS

_PROJECT = Path(__file__).parents[2] / "pyproject.toml"
_BOUNDS = re.compile(r"(?P<package>[\w-]+)>=(?P<oldest>[\d.]+),<(?P<major>\d+)(?:;.*)?")
# LangGraph's oldest version does not say that newer ones of this package do not fit it.
_BESIDE = "langgraph-prebuilt==1.0.8"
# It allows no MCP that the others, and the tests of `reel mcp`, need.
_GROUPS = {"strands-agents": "apart", "openhands-sdk": "later"}


def bounds() -> dict[str, dict[str, tuple[str, str]]]:
    """Return by extra and package the oldest version, and the first major one that is excluded."""
    extras = tomllib.loads(_PROJECT.read_text())["project"]["optional-dependencies"]
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for extra in FRAMEWORKS:
        matches = [_BOUNDS.fullmatch(requirement) for requirement in extras[extra]]
        found[extra] = {match["package"]: (match["oldest"], match["major"]) for match in matches if match}
    return found


def requirements(which: str) -> list[str]:
    """Return what pip installs: the oldest versions, or the packages that it brings up to date."""
    group, _, version = which.rpartition("-")
    chosen = [each for extra, each in bounds().items() if _GROUPS.get(extra, "") == group]
    packages = {package: oldest for each in chosen for package, (oldest, _) in each.items()}
    if version == "newest":
        return [*packages]
    return [*(f"{package}=={oldest}" for package, oldest in packages.items()), *(() if group else (_BESIDE,))]


if __name__ == "__main__":
    sys.stdout.write(" ".join(requirements(sys.argv[1])))
