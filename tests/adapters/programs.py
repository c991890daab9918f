"""The programs from npm that ``make adapters`` drives: which ones, and where they are installed.

Each is in a directory of its own, since they disagree about their libraries. ``python -m tests.adapters.programs``
installs them; what cannot be installed is said, and its tests are skipped.
"""

import shutil
import subprocess
import sys
from pathlib import Path

# Those with which the tests were written: what the programs write and ask for changes without notice.
PACKAGES = {
    "node": "node@24",  # the conformance suite needs 22
    "claude": "@anthropic-ai/claude-code@2.1.332",
    "codex": "@openai/codex@0.171.0",
    "gemini": "@google/gemini-cli@0.61.0",
    "opencode": "opencode-ai@1.18.33",
    "pi": "@earendil-works/pi-coding-agent@1.6.0",
    "mcp-inspector": "@modelcontextprotocol/inspector@0.15.0",
    "conformance": "@modelcontextprotocol/conformance@0.1.16",
}
PROGRAMS = Path(sys.prefix) / "programs"


def program(name: str) -> str | None:
    """Return the path of a program, ``None`` if it is not installed."""
    return shutil.which(name, path=str(_directory(name) / "node_modules/.bin")) or shutil.which(name)


def search_path(usual: str) -> str:
    """Return the directories in which to look for programs: first that of the Node that was installed with them."""
    return f"{_directory('node') / 'node_modules/.bin'}:{usual}"


def _directory(name: str) -> Path:
    return PROGRAMS / name


def install(name: str) -> str:
    """Install a program, if it is not installed; return what went wrong, empty if nothing did."""
    directory = _directory(name)
    if (directory / "node_modules/.bin" / name).exists():
        return ""
    directory.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(directory), PACKAGES[name]]
    try:
        ran = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError as error:
        return f"npm cannot be run: {error.strerror}"
    return "" if ran.returncode == 0 else ran.stderr.strip().splitlines()[-1]


if __name__ == "__main__":
    for each in PACKAGES:
        if problem := install(each):
            print(f"{each} is not installed, and its tests are skipped: {problem}", file=sys.stderr)  # noqa: T201
