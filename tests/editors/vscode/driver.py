"""The extension for VS Code in a process of its own: built as it is published, driven line by line."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.programs import PROGRAMS
from tests.editors.surroundings import Require
from tests.patience import PATIENCE

SOURCE = Path(__file__).parents[3] / "client" / "editors" / "vscode"
MEGABYTE = 1 << 20
_NOT_SOURCE = shutil.ignore_patterns("node_modules", "out", "__pycache__")


def build(require: Require) -> Path:
    """Install what the lock file names and compile, unless a test has done so since the source changed.

    Without a registry, the test is skipped, unless editors are required.
    """
    npm = require("npm")
    require("node")
    PROGRAMS.mkdir(exist_ok=True)
    built, building = PROGRAMS / f"vscode-{_digest():08x}", PROGRAMS / "vscode"
    with (PROGRAMS / "vscode.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if built.exists():
            return built
        # Of another source, or of a process that failed.
        for older in (building, *PROGRAMS.glob("vscode-*")):
            shutil.rmtree(older, ignore_errors=True)
        shutil.copytree(SOURCE, building, ignore=_NOT_SOURCE)
        install = _npm(building, npm, "ci", "--no-audit", "--no-fund")
        if install.returncode:
            said = f"npm cannot install: {install.stderr[-500:]}"
            pytest.fail(said) if os.environ.get("REEL_EDITORS") == "required" else pytest.skip(said)
        compiled = _npm(building, npm, "run", "build")
        assert 0 == compiled.returncode, compiled.stdout
        return building.rename(built)


def _digest() -> int:
    """Return a number that another source would not have."""
    digest = 0
    for directory, names, files in os.walk(SOURCE):
        left_out = _NOT_SOURCE(directory, [*names, *files])
        names[:] = sorted(set(names) - left_out)
        for name in sorted(set(files) - left_out):
            path = Path(directory) / name
            digest = zlib.crc32(bytes(path.relative_to(SOURCE)) + b"\0" + path.read_bytes(), digest)
    return digest


def _npm(built: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    # The compiler takes 190 MB; with smaller spaces for young objects 160, and a second more.
    environment = {**os.environ, "NODE_OPTIONS": "--max-semi-space-size=2"}
    return subprocess.run(
        command, cwd=built, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


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
        """Run an action of the driver, and return its result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": what, **given}).encode() + b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def run(self, command: str, *given: str, answers: list[str] | None = None) -> Any:
        """Run a command that shows no error; return what it asked and said."""
        came = self.ask("run", command=command, given=given[0] if given else None, answers=answers or [])
        assert [] == came["complained"]
        return came

    def refused(self, command: str, *given: str) -> str:
        """Run a command, and return the error that it shows."""
        (line,) = self.ask("run", command=command, given=given[0] if given else None)["complained"]
        return str(line)

    def shows(self, name: str, text: str, *, gone: bool = False) -> str:
        """Wait until a document contains a text (or no longer does); return all of it, without the times."""
        return timeless(self.ask("shows", name=name, text=text, gone=gone))

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the process inside the block, so that it reads nothing."""
        os.kill(self._process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._process.pid, signal.SIGCONT)

    def close(self) -> int:
        """Let it end by itself, and return its exit status."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            return self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait(PATIENCE)


def timeless(text: str) -> str:
    """Return a text without the times of headings."""
    return re.sub(r"^(## \w+ #\d+) · [-\d]+ [:\d]+$", r"\1", text, flags=re.MULTILINE)


def laid(*said: tuple[str, str]) -> str:
    """Return headings and texts as a document shows them."""
    return "\n".join(f"## {heading}\n\n{text}\n" for heading, text in said)


def node(built: Path, environment: dict[str, str], *command: str) -> str:
    """Run Node, and return its output."""
    done = subprocess.run(
        ["node", *command], cwd=built, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


def script(built: Path, environment: dict[str, str], body: str) -> list[object]:
    """Run a program that has a ``client`` of the library, and return the values that it ``say``s."""
    program = f"""
        const {{Client}} = require('./out/src/client');
        const client = new Client({{command: ''}});
        const say = (value) => console.log(JSON.stringify(value));
        (async () => {{ {body} }})().finally(() => client.close());
    """
    return [json.loads(line) for line in node(built, environment, "-e", program).splitlines()]
