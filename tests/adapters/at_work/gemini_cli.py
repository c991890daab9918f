"""Gemini CLI in a terminal."""

import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.adapters.at_work.place import Place
from tests.adapters.at_work.session import LAST, PAUSE, Session
from tests.patience import Deadline
from tests.reel.cli.tmux import Tmux

# What Gemini CLI shows where nothing is typed, and in its list of prompts to go back to, where nothing is taken back.
_EMPTY, _HERE, _SELECTED = "Type your message", "Stay at current position", "\u25cf"
# What it writes for a session that was resumed; a conversation that takes the place of another one; a step back; and
# what it has shown, as at the end of a compaction.
_RESUMED, _REPLACED, _REWOUND = '{"$set":{"sessionId"', '{"$set":{"messages"', '{"$rewindTo"'
_SHOWN = ('"type":"info"', '"type":"warning"', '"type":"error"')


class GeminiCli(Session):
    """Gemini CLI in a terminal."""

    tool = "gemini-cli"

    @classmethod
    def prepare(cls, place: Place) -> None:
        settings = {
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "ide": {"enabled": False},
            "ui": {"hideBanner": True, "hideTips": True},
        }
        place.settings(".gemini/settings.json", settings)

    def __init__(self, program: str, place: Place, project: Path, model: str) -> None:
        super().__init__(program, place, project, model)
        self._id = str(uuid.uuid4())
        self._arguments = ["--session-id", self._id]
        self._asked = ""

    def open(self) -> None:
        found = shutil.which("tmux")
        assert found is not None
        self._screen = Tmux(found, self.place.home / f"t{self._id[:8]}", {**self.place.environment, "TERM": "xterm"})
        command, resumed = [self.program, "-y", "-m", "gemini-2.5-pro", *self._arguments], self._written(_RESUMED)
        self._screen.run("new-session", "-d", "-x", "120", "-y", "50", "-c", str(self.project), " ".join(command))
        self._screen.shows_anywhere(_EMPTY)
        if "--resume" in self._arguments:  # a prompt that comes before is sent without the conversation
            self._until_written(resumed + 1, _RESUMED)
        self._arguments = ["--resume", self._id]

    def _write(self, text: str) -> None:
        """Write a text where nothing is typed, and wait until it is there; what is not may just be drawn again."""
        self._screen.run("send-keys", "-l", text)
        self._screen.shows_anywhere(f"* {text}")

    def _type(self, text: str) -> None:
        self._write(text)
        deadline = Deadline()
        # A return that comes together with the text is a part of it, and one that comes too early is lost; but a second
        # one, while it is busy, sends the text again.
        while not self._is_empty():
            assert not deadline.is_over, self._screen.lines()
            time.sleep(1)  # nothing tells when its screen takes keys again
            self._screen.run("send-keys", "Enter")
            again = time.monotonic() + LAST
            while not self._is_empty() and time.monotonic() < again:
                time.sleep(PAUSE)  # between two looks

    def _press(self, is_done: Callable[[], bool], *keys: str) -> None:
        """Press keys until something is so: they are lost if the screen does not take any yet."""
        deadline = Deadline()
        while not is_done():
            self._screen.run("send-keys", *keys)
            again = time.monotonic() + LAST
            while not is_done() and time.monotonic() < again:
                assert not deadline.is_over, self._screen.lines()
                time.sleep(PAUSE)  # between two looks

    def _shows(self, text: str) -> bool:
        return any(text in line for line in self._screen.lines())

    def _is_empty(self) -> bool:
        return self._shows(_EMPTY)

    def _file(self) -> str:
        pattern = f".gemini/tmp/*/chats/session-*-{self._id[:8]}.jsonl"
        return "".join(path.read_text() for path in self.place.home.glob(pattern))

    def _written(self, *texts: str) -> int:
        file = self._file()
        return sum(map(file.count, texts))

    def _until_written(self, times: int, *texts: str) -> None:
        deadline = Deadline()
        while self._written(*texts) < times:
            assert not deadline.is_over, self._screen.lines()
            time.sleep(PAUSE)  # between two looks

    def ask(self, text: str) -> None:
        self._asked = text
        self._type(text)

    def finish(self) -> None:
        self._until_written(1, f"Ended {self._asked.rsplit(maxsplit=1)[-1]}")

    def interrupt(self) -> None:
        # It says nothing on its screen if a call has ended before.
        before = self._written(_REPLACED)
        self._press(lambda: self._written(_REPLACED) > before, "Escape")

    def compact(self) -> None:
        before = self._written(*_SHOWN)
        self._type("/compress")
        self._until_written(before + 1, *_SHOWN)

    def rewind(self) -> bool:
        before = self._written(_REWOUND)
        self._write("/rewind")
        self._press(lambda: self._shows(f"{_SELECTED} {_HERE}"), "Enter")
        self._press(lambda: self._shows(f"{_SELECTED} {self._asked}"), "Up")
        self._press(lambda: self._shows("Confirm Rewind"), "Enter")
        self._press(lambda: self._written(_REWOUND) > before, "Enter")
        # The prompt that was taken back is offered again.
        self._press(self._is_empty, "-N", "200", "BSpace")
        return False

    def fork(self) -> None:
        """Gemini CLI has no forks."""

    def rename(self, title: str) -> None:
        """Gemini CLI lets nobody give a title."""

    def close(self) -> None:
        with suppress(subprocess.CalledProcessError):  # its screen is gone with it
            self._type("/quit")
        self._ended()

    def kill(self) -> None:
        pid = int(self._screen.run("display-message", "-p", "#{pane_pid}"))
        os.killpg(os.getpgid(pid), signal.SIGKILL)
        self._ended()

    def _ended(self) -> None:
        deadline = Deadline()
        while True:
            try:
                self._screen.run("list-sessions")
            except subprocess.CalledProcessError:
                return
            assert not deadline.is_over
            time.sleep(PAUSE)  # between two looks
