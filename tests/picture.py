"""The picture of the README, from a real run: a person imports their sessions and searches them (`make picture`).

It starts a daemon in a home of its own, with two sessions in the forms of Claude Code and Codex, and draws what the
commands print on a terminal.
"""

import json
import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from reel.sync.client import Client
from tests.daemon import until_indexed
from tests.reel.importing.rollouts import Lines
from tests.reel.importing.transcripts import Transcript, call

_PICTURE = Path(__file__).parent.parent / "docs" / "search.svg"
_WIDTH = 100
_REEL = Path(sys.executable).parent / "reel"
_SESSION = "6b23c0c6-77b1-4d25-bc34-9ea864913c3b"
_COMMANDS = (("import", "--yes"), ("search", "backoff"), ("show", f"claude-code/{_SESSION}"))


def main() -> None:
    """Draw the picture."""
    with tempfile.TemporaryDirectory(prefix="reel-") as home:
        _sessions(Path(home))
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("REEL_", "XDG_"))},
            "HOME": home,
            "XDG_RUNTIME_DIR": home,
            "TERM": "xterm-256color",
            "COLUMNS": str(_WIDTH),
            "PAGER": "",
        }
        console = Console(record=True, width=_WIDTH, file=StringIO(), force_terminal=True)
        for command in _COMMANDS:
            console.print(Text.assemble(("$ ", "dim"), (" ".join(["reel", *command]), "bold")))
            console.print(Text.from_ansi("".join(_printed(command, environment))))
            with Client(f"{home}/reel/reel.sock") as client:
                until_indexed(client)
        subprocess.run([_REEL, "stop"], env=environment, check=True, capture_output=True)
    # A picture in a README loads nothing from elsewhere.
    form = re.sub(r"@font-face {{.*?}}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    console.save_svg(str(_PICTURE), title="reel", theme=MONOKAI, code_format=form)


def _sessions(home: Path) -> None:
    claude = Transcript(_SESSION)
    claude.user("u1", "The uploads fail when the network is slow. Add a retry with backoff?")
    claude.answer("a1", "I read the client first.", "m1")
    claude.answer("a2", call("c1", command="rg -n 'def upload' src"), "m1")
    claude.result("u2", "c1", "src/client.py:48:def upload(path):")
    claude.answer("a3", "Done: four attempts, with a backoff of 1, 2, 4 s and jitter, only for 429 and 5xx.", "m2")
    folder = home / ".claude" / "projects" / "-home-me-deck"
    folder.mkdir(parents=True)
    text = "".join(json.dumps(record) + "\n" for record in claude.records)
    (folder / f"{claude.session}.jsonl").write_text(text)
    codex = Lines("d41f8a52-0b7e-4c1c-9a7e-51c9d0a6e2f4")
    codex.said("user", "Why did we choose jitter for the retry?")
    codex.said("assistant", "Without it all clients retry at the same moment, and the backoff helps nobody.")
    codex.write(
        home / ".codex" / "sessions" / "2026" / "08" / "01" / f"rollout-2026-08-01T10-00-00-{codex.thread}.jsonl"
    )


def _printed(command: tuple[str, ...], environment: dict[str, str]) -> Iterator[str]:
    """Yield what a command prints on a terminal."""
    terminal, its_end = pty.openpty()
    with subprocess.Popen([_REEL, *command], stdin=subprocess.DEVNULL, stdout=its_end, stderr=its_end, env=environment):
        os.close(its_end)
        while piece := _read(terminal):
            yield piece.decode().replace("\r\n", "\n")
    os.close(terminal)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the other end is closed
        return b""


if __name__ == "__main__":
    main()
