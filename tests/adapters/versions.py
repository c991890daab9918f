"""Which frameworks `make adapters` installs: ``python -m tests.adapters.versions``, with ``oldest`` or ``newest``."""

import re
import sys
import tomllib
from pathlib import Path

from reel.integrations.frameworks import FRAMEWORKS

_PROJECT = Path(__file__).parents[2] / "pyproject.toml"
_BOUNDS = re.compile(r"(?P<package>[\w-]+)>=(?P<oldest>[\d.]+),<(?P<major>\d+)")
# LangGraph's oldest version does not say that newer ones of this package do not fit it.
_BESIDE = "langgraph-prebuilt==1.0.8"


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
    packages = {package: oldest for each in bounds().values() for package, (oldest, _) in each.items()}
    if which == "newest":
        return [*packages]
    return [*(f"{package}=={oldest}" for package, oldest in packages.items()), _BESIDE]


if __name__ == "__main__":
    sys.stdout.write(" ".join(requirements(sys.argv[1])))
