"""VS Code's extension in a process of its own: built as it is published, driven a line at a time."""

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.editors.surroundings import Require

SOURCE = Path(__file__).parents[2] / "client" / "editors" / "vscode"
PATIENCE = 100
END = 20


def build(require: Require, place: Path) -> Path:
    """Install what the lock file names and compile; skip where there is no registry, unless it is required."""
    npm = require("npm")
    require("node")
    built = place / "vscode"
    shutil.copytree(SOURCE, built, ignore=shutil.ignore_patterns("node_modules", "out"))
    install = _npm(built, npm, "ci", "--no-audit", "--no-fund")
    if install.returncode:
        said = f"npm cannot install: {install.stderr[-500:]}"
        pytest.fail(said) if os.environ.get("REEL_EDITORS") == "required" else pytest.skip(said)
    compiled = _npm(built, npm, "run", "build")
    assert compiled.returncode == 0, compiled.stdout
    return built


def _npm(built: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=built, capture_output=True, text=True, timeout=PATIENCE, check=False)


class VSCode:
    """The extension, and the window around it."""

    def __init__(self, built: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            ["node", str(built / "out" / "drive" / "main.js")],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, what: str, **given: Any) -> Any:
        """Have something done; give what came of it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": what, **given}).encode() + b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def run(self, command: str, *given: str, answers: list[str] | None = None) -> Any:
        """Run a command that brings no error; give what it asked and said."""
        came = self.ask("run", command=command, given=given[0] if given else None, answers=answers or [])
        assert [] == came["complained"]
        return came

    def refused(self, command: str, *given: str) -> str:
        """Run a command; give the line that says why it was refused."""
        (line,) = self.ask("run", command=command, given=given[0] if given else None)["complained"]
        return str(line)

    def shows(self, name: str, text: str, *, gone: bool = False) -> str:
        """Wait until a document has a text in it (or no longer); give all of it, without the times."""
        return timeless(self.ask("shows", name=name, text=text, gone=gone))

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Keep it from reading anything for a while."""
        os.kill(self._process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._process.pid, signal.SIGCONT)

    def close(self) -> int:
        """Let it end by itself, and give its exit status."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            return self._process.wait(END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait(END)


def timeless(text: str) -> str:
    """Leave out the times of headings."""
    return re.sub(r"^(## \w+ #\d+) · [-\d]+ [:\d]+$", r"\1", text, flags=re.MULTILINE)


def laid(*said: tuple[str, str]) -> str:
    """Lay out headings and texts as a document does."""
    return "\n".join(f"## {heading}\n\n{text}\n" for heading, text in said)
