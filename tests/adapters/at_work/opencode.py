"""The server of opencode."""

import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

from tests.adapters.at_work.place import Place
from tests.adapters.at_work.session import LAST, PAUSE, Session
from tests.adapters.at_work.talk import Record
from tests.patience import LONGEST, Deadline

# A server that has just begun to listen may leave the first request without an answer: another one is sent.
_FIRST = 5.0


class Opencode(Session):
    """The server of opencode."""

    tool = "opencode"
    models = ("fake/fake-1", "claude/fake-2")

    @classmethod
    def prepare(cls, place: Place) -> None:
        limits = {"context": 200_000, "output": 8_000}
        model = {"name": "Fake", "tool_call": True, "reasoning": True, "limit": limits}
        options = {"baseURL": f"{place.provider.address}/v1", "apiKey": "none"}
        chat = {**model, "interleaved": {"field": "reasoning_content"}}
        fake = {"npm": "@ai-sdk/openai-compatible", "name": "Fake", "options": options, "models": {"fake-1": chat}}
        claude = {"npm": "@ai-sdk/anthropic", "name": "Claude", "options": options, "models": {"fake-2": model}}
        # A turn is kept beside a summary, however short it is.
        quiet = {"autoupdate": False, "share": "disabled", "permission": "allow", "compaction": {"tail_turns": 1}}
        models = {"model": "fake/fake-1", "small_model": "fake/fake-1", "provider": {"fake": fake, "claude": claude}}
        place.settings(".config/opencode/opencode.json", {**quiet, **models})

    def __init__(self, program: str, place: Place, project: Path, model: str) -> None:
        super().__init__(program, place, project, model)
        self._id = ""

    def open(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._process = subprocess.Popen(
            [self.program, "serve", "--port", str(self._port), "--hostname", "127.0.0.1"],
            cwd=self.project,
            env=self.place.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = Deadline()
        while True:
            try:
                self._call("GET", "/config", within=_FIRST)
                break
            except OSError:
                assert not deadline.is_over
                time.sleep(PAUSE)  # between two looks
        if not self._id:
            self._id = self._call("POST", "/session", {})["id"]

    def _call(self, method: str, path: str, body: Any = None, within: float = LONGEST) -> Any:
        url = f"http://127.0.0.1:{self._port}{path}?directory={self.project}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=within) as reply:
            return json.loads(reply.read() or b"null")

    @property
    def _of_model(self) -> Record:
        provider, _, model = self.model.partition("/")
        return {"providerID": provider, "modelID": model}

    def ask(self, text: str) -> None:
        body = {"model": self._of_model, "parts": [{"type": "text", "text": text}]}
        # The reply comes at the end of the turn, or not at all if the server is killed.
        self._turn = threading.Thread(target=self._say, args=(body,))
        self._turn.start()

    def _say(self, body: Record) -> None:
        try:
            self._call("POST", f"/session/{self._id}/message", body)
        except (OSError, ValueError):
            return

    def finish(self) -> None:
        self._turn.join()

    def interrupt(self) -> None:
        self._call("POST", f"/session/{self._id}/abort", {})
        self._turn.join()

    def compact(self) -> None:
        self._call("POST", f"/session/{self._id}/summarize", self._of_model)

    def rewind(self) -> bool:
        messages = self._call("GET", f"/session/{self._id}/message")
        prompts = [each["info"]["id"] for each in messages if each["info"]["role"] == "user"]
        is_after_summary = any(each["info"].get("summary") is True for each in messages[-6:])
        if len(prompts) < 2 or is_after_summary:
            return False
        self._call("POST", f"/session/{self._id}/revert", {"messageID": prompts[-1]})
        return True

    def fork(self) -> None:
        self._id = self._call("POST", f"/session/{self._id}/fork", {})["id"]

    def rename(self, title: str) -> None:
        self._call("PATCH", f"/session/{self._id}", {"title": title})

    def close(self) -> None:
        self._process.terminate()
        try:
            # It may never end while npm installs what it wants to have; its turns are in its database by then.
            self._process.wait(LAST)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(LONGEST)
        self._turn.join()

    def sub_agent(self, word: str) -> tuple[str, Record]:
        return "task", {"description": "Look at it", "prompt": f"Please do {word}.", "subagent_type": "general"}
