"""Five real coding agents, each with what a person does at one: asks, interrupts, forks, takes back, ends it.

Each is driven by the interface that its makers have for programs; Gemini CLI, which has none for that, in a terminal.
"""

import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.request
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.adapters.programs import search_path
from tests.adapters.scripted_provider import Provider
from tests.patience import LONGEST, Deadline
from tests.reel.cli.tmux import Tmux

Record = dict[str, Any]
# The variables with which an agent, or reel, would find another home.
_OWN = ("XDG_", "REEL_", "ANTHROPIC_", "CLAUDE", "CODEX_", "GEMINI_", "GOOGLE_", "OPENAI_", "OPENCODE_", "PI_", "TMUX")
# A server that has just begun to listen may leave the first request without an answer: another one is sent.
_FIRST = 5.0
# How long an agent may take to do what it is told with a signal or a key, before it is told again. A server of opencode
# may never end while npm installs what it wants to have; its turns are in its database by then.
_LAST = 10.0
# Between two looks at a file, or at a server that starts.
_PAUSE = 0.1
# Between two looks whether the time is over.
_LOOK = 1.0


class Place:
    """Where the agents work.

    Args:
        home: the home directory.
        provider: the provider.
    """

    def __init__(self, home: Path, provider: Provider) -> None:
        self.home = home
        self.provider = provider
        # opencode installs what it needs: the variables that lead to the network stay.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
        self.environment = {**kept, "PATH": search_path(os.environ["PATH"]), "HOME": str(home), "IS_SANDBOX": "1"}
        self.environment |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        self.environment |= {"ANTHROPIC_BASE_URL": provider.address, "ANTHROPIC_API_KEY": "none"}
        self.environment |= {"OPENAI_API_KEY": "none", "PI_OFFLINE": "1"}
        self.environment |= {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": provider.address}
        fetched = ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
        self.environment |= {f"OPENCODE_DISABLE_{what}": "1" for what in fetched}

    def project(self, name: str) -> Path:
        """Return the directory of a project, which is a repository."""
        path = self.home / name
        if not path.exists():
            path.mkdir()
            subprocess.run(["git", "init", "-q", "."], check=True, cwd=path, env=self.environment)
        return path

    def settings(self, file: str, value: Any) -> None:
        """Write settings of an agent."""
        path = self.home / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if type(value) is str else json.dumps(value))


class Talk:
    """A program that speaks JSON lines on its streams."""

    def __init__(self, command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._records: queue.Queue[Record | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                if line.startswith(b"{"):
                    self._records.put(json.loads(line))
        self._records.put(None)

    def send(self, record: Record) -> None:
        """Send a record."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(record).encode() + b"\n")
        self._process.stdin.flush()

    def wait(self, is_it: Callable[[Record], bool]) -> Record:
        """Read records up to the first one that is meant, and return it."""
        deadline = Deadline()
        while True:
            try:
                record = self._records.get(timeout=_LOOK)
            except queue.Empty:
                assert not deadline.is_over, self._process.args
                continue
            if record is None:
                raise EOFError(self._process.args)
            if is_it(record):
                return record

    def close(self) -> None:
        """Let it end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(LONGEST)
        self._reader.join()

    def kill(self) -> None:
        """Kill it, and what it has started."""
        os.killpg(self._process.pid, signal.SIGKILL)
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(LONGEST)
        self._reader.join()


class Session(ABC):
    """A session of an agent, at which somebody works.

    Args:
        program: the path of the agent.
        place: where it works.
        project: the directory.
        model: which of its models it asks.
    """

    # What reel calls the agent, and what its models are called.
    tool: str
    models: Sequence[str] = ("",)

    def __init__(self, program: str, place: Place, project: Path, model: str) -> None:
        self.program = program
        self.place = place
        self.project = project
        self.model = model

    @classmethod
    @abstractmethod
    def prepare(cls, place: Place) -> None:
        """Write the settings."""

    @abstractmethod
    def open(self) -> None:
        """Begin, or go on after :meth:`close` or :meth:`kill`."""

    @abstractmethod
    def ask(self, text: str) -> None:
        """Send a prompt."""

    @abstractmethod
    def finish(self) -> None:
        """Wait until the turn has ended."""

    @abstractmethod
    def interrupt(self) -> None:
        """Interrupt the turn, and wait until it has ended."""

    @abstractmethod
    def compact(self) -> None:
        """Sum up the conversation."""

    @abstractmethod
    def rewind(self) -> None:
        """Take back the last turn, if there is one before it."""

    @abstractmethod
    def fork(self) -> None:
        """Go on in a copy."""

    @abstractmethod
    def rename(self, title: str) -> None:
        """Give it a title."""

    @abstractmethod
    def close(self) -> None:
        """Let the agent end."""

    @abstractmethod
    def kill(self) -> None:
        """Kill the agent."""

    def sub_agent(self, word: str) -> tuple[str, Record] | None:  # noqa: ARG002 - the others need it
        """Return the call that lets a sub-agent work on a prompt; ``None`` if the agent has no sub-agents."""
        return None


class ClaudeCode(Session):
    """Claude Code on lines."""

    tool = "claude-code"

    @classmethod
    def prepare(cls, place: Place) -> None:
        """Claude Code needs no settings."""

    def __init__(self, program: str, place: Place, project: Path, model: str) -> None:
        super().__init__(program, place, project, model)
        self._id = str(uuid.uuid4())
        self._arguments = ["--session-id", self._id]
        # The ends of the turns.
        self._ends: list[str] = []

    def open(self) -> None:
        streams = ["-p", "--dangerously-skip-permissions", "--verbose", "--input-format", "stream-json"]
        command = [self.program, *streams, "--output-format", "stream-json", *self._arguments]
        self._talk = Talk(command, self.project, self.place.environment)
        self._arguments = ["--resume", self._id]

    def ask(self, text: str) -> None:
        self._talk.send({"type": "user", "message": {"role": "user", "content": text}})

    def finish(self) -> None:
        end = ""

        def is_end(record: Record) -> bool:
            nonlocal end
            if record["type"] == "assistant" and not record.get("parent_tool_use_id"):
                end = record["uuid"]
            return bool(record["type"] == "result")

        self._id = self._talk.wait(is_end)["session_id"]
        self._arguments = ["--resume", self._id]
        if end:
            self._ends.append(end)

    def interrupt(self) -> None:
        self._talk.send({"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}})
        self.finish()

    def compact(self) -> None:
        self.ask("/compact")
        self.finish()
        # What is before it cannot be gone back to.
        self._ends.clear()

    def rewind(self) -> None:
        if len(self._ends) > 1:
            self._ends.pop()
            self._again("--resume-session-at", self._ends[-1])

    def fork(self) -> None:
        self._again("--fork-session")

    def rename(self, title: str) -> None:
        self._again("--name", title)

    def _again(self, *arguments: str) -> None:
        self.close()
        self._arguments += arguments
        self.open()

    def close(self) -> None:
        self._talk.close()

    def kill(self) -> None:
        self._talk.kill()

    def sub_agent(self, word: str) -> tuple[str, Record]:
        given = {"description": "Look at it", "prompt": f"Please do {word}.", "subagent_type": "general-purpose"}
        return "Agent", {**given, "run_in_background": False}


class Codex(Session):
    """Codex as a server for editors."""

    tool = "codex"

    @classmethod
    def prepare(cls, place: Place) -> None:
        place.settings(
            ".codex/config.toml",
            'model = "gpt-5.5-codex"\nmodel_provider = "fake"\napproval_policy = "never"\n'
            "check_for_update_on_startup = false\n"
            'sandbox_mode = "danger-full-access"\n[model_providers.fake]\nname = "Fake"\n'
            f'base_url = "{place.provider.address}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
            "request_max_retries = 4\nstream_max_retries = 1\n",
        )

    def __init__(self, program: str, place: Place, project: Path, model: str) -> None:
        super().__init__(program, place, project, model)
        self._id = ""
        self._turns: list[str] = []
        self._number = 0

    def _call(self, method: str, **params: Any) -> Record:
        self._number += 1
        number = self._number
        self._talk.send({"id": number, "method": method, "params": params})
        reply = self._talk.wait(lambda record: record.get("id") == number and "method" not in record)
        assert "result" in reply, (method, reply)
        result: Record = reply["result"]
        return result

    def open(self) -> None:
        self._talk = Talk([self.program, "app-server", "--enable", "multi_agent"], self.project, self.place.environment)
        self._call("initialize", clientInfo={"name": "codex_tests", "title": "Tests", "version": "1"})
        self._talk.send({"method": "initialized"})
        kept = {"cwd": str(self.project), "approvalPolicy": "never", "sandbox": "danger-full-access"}
        if self._id:
            self._call("thread/resume", threadId=self._id, **kept)
        else:
            self._id = self._call("thread/start", **kept)["thread"]["id"]

    def ask(self, text: str) -> None:
        turn = self._call("turn/start", threadId=self._id, input=[{"type": "text", "text": text, "text_elements": []}])
        self._turns.append(turn["turn"]["id"])

    def finish(self) -> None:
        self._ended()

    def _ended(self) -> None:
        self._talk.wait(
            lambda record: record.get("method") == "turn/completed" and record["params"]["threadId"] == self._id
        )

    def interrupt(self) -> None:
        self._talk.send(
            {"id": 0, "method": "turn/interrupt", "params": {"threadId": self._id, "turnId": self._turns[-1]}}
        )
        self._ended()

    def compact(self) -> None:
        self._talk.send({"id": 0, "method": "thread/compact/start", "params": {"threadId": self._id}})
        self._ended()
        self._turns.clear()

    def rewind(self) -> None:
        if len(self._turns) > 1:
            self._call("thread/revert", threadId=self._id, beforeTurnId=self._turns.pop())

    def fork(self) -> None:
        self._id = self._call("thread/fork", threadId=self._id)["thread"]["id"]
        self._turns.clear()

    def rename(self, title: str) -> None:
        self._call("thread/name/set", threadId=self._id, name=title)

    def close(self) -> None:
        self._talk.close()

    def kill(self) -> None:
        self._talk.kill()

    def sub_agent(self, word: str) -> tuple[str, Record]:
        return "multi_agent_v1/spawn_agent", {"message": f"Please do {word}."}


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
        quiet = {"autoupdate": False, "share": "disabled", "permission": "allow"}
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
                time.sleep(_PAUSE)  # between two looks
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

    def rewind(self) -> None:
        messages = self._call("GET", f"/session/{self._id}/message")
        prompts = [each["info"]["id"] for each in messages if each["info"]["role"] == "user"]
        if len(prompts) > 1 and not any(each["info"].get("summary") is True for each in messages[-6:]):
            self._call("POST", f"/session/{self._id}/revert", {"messageID": prompts[-1]})

    def fork(self) -> None:
        self._id = self._call("POST", f"/session/{self._id}/fork", {})["id"]

    def rename(self, title: str) -> None:
        self._call("PATCH", f"/session/{self._id}", {"title": title})

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_LAST)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(LONGEST)
        self._turn.join()

    def sub_agent(self, word: str) -> tuple[str, Record]:
        return "task", {"description": "Look at it", "prompt": f"Please do {word}.", "subagent_type": "general"}


# Goes back in the tree of a session, which people do on a screen.
_BACK = """export default function (pi) {
  pi.registerCommand("back", {
    description: "Go back to an entry",
    handler: async (entry, ctx) => { await ctx.waitForIdle(); await ctx.navigateTree(entry.trim(), {}); },
  });
}
"""


class Pi(Session):
    """Pi as a server on its streams."""

    tool = "pi"
    models = ("claude/fake-1", "chat/fake-2", "responses/fake-3")

    @classmethod
    def prepare(cls, place: Place) -> None:
        place.settings(".pi/agent/extensions/back.ts", _BACK)
        place.settings(
            ".pi/agent/models.json",
            {
                "providers": {
                    name: {
                        "baseUrl": place.provider.address + end,
                        "api": api,
                        "apiKey": "none",
                        "models": [
                            {
                                "id": model,
                                "name": model,
                                "reasoning": True,
                                "contextWindow": 200_000,
                                "maxTokens": 8_000,
                            }
                        ],
                    }
                    for name, model, end, api in (
                        ("claude", "fake-1", "", "anthropic-messages"),
                        ("chat", "fake-2", "/v1", "openai-completions"),
                        ("responses", "fake-3", "/v1", "openai-responses"),
                    )
                }
            },
        )
        # A compaction that keeps little.
        place.settings(".pi/agent/settings.json", {"compaction": {"keepRecentTokens": 50}})

    def __init__(self, program: str, place: Place, project: Path, model: str) -> None:
        super().__init__(program, place, project, model)
        self._session = ["--session-id", str(uuid.uuid4())]
        self._number = 0

    def open(self) -> None:
        command = [self.program, "--mode", "rpc", "--offline", "--thinking", "medium", "--model", self.model]
        self._talk = Talk([*command, *self._session], self.project, self.place.environment)
        state = self._call("get_state")
        self._session = ["--session", state["sessionFile"]]

    def _call(self, kind: str, **more: Any) -> Record:
        self._number += 1
        number = str(self._number)
        self._talk.send({"id": number, "type": kind, **more})
        reply = self._talk.wait(lambda record: record["type"] == "response" and record.get("id") == number)
        assert reply["success"], reply
        data: Record = reply.get("data") or {}
        return data

    def ask(self, text: str) -> None:
        self._call("prompt", message=text)

    def finish(self) -> None:
        self._talk.wait(lambda record: record["type"] == "agent_settled")

    def interrupt(self) -> None:
        self._call("abort")

    def compact(self) -> None:
        self._number += 1
        self._talk.send({"id": str(self._number), "type": "compact"})
        # It is refused if there is too little.
        self._talk.wait(lambda record: record["type"] == "response" and record.get("id") == str(self._number))

    def rewind(self) -> None:
        prompts = self._call("get_fork_messages")["messages"]
        if len(prompts) > 1:
            self._call("prompt", message=f"/back {prompts[-1]['entryId']}")

    def fork(self) -> None:
        self._call("clone")
        self._session = ["--session", self._call("get_state")["sessionFile"]]

    def rename(self, title: str) -> None:
        self._call("set_session_name", name=title)

    def close(self) -> None:
        self._talk.close()

    def kill(self) -> None:
        self._talk.kill()


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
            again = time.monotonic() + _LAST
            while not self._is_empty() and time.monotonic() < again:
                time.sleep(_PAUSE)  # between two looks

    def _press(self, is_done: Callable[[], bool], *keys: str) -> None:
        """Press keys until something is so: they are lost if the screen does not take any yet."""
        deadline = Deadline()
        while not is_done():
            self._screen.run("send-keys", *keys)
            again = time.monotonic() + _LAST
            while not is_done() and time.monotonic() < again:
                assert not deadline.is_over, self._screen.lines()
                time.sleep(_PAUSE)  # between two looks

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
            time.sleep(_PAUSE)  # between two looks

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

    def rewind(self) -> None:
        before = self._written(_REWOUND)
        self._write("/rewind")
        self._press(lambda: self._shows(f"{_SELECTED} {_HERE}"), "Enter")
        self._press(lambda: self._shows(f"{_SELECTED} {self._asked}"), "Up")
        self._press(lambda: self._shows("Confirm Rewind"), "Enter")
        self._press(lambda: self._written(_REWOUND) > before, "Enter")
        # The prompt that was taken back is offered again.
        self._press(self._is_empty, "-N", "200", "BSpace")

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
            time.sleep(_PAUSE)  # between two looks


AGENTS: Mapping[str, type[Session]] = {
    "claude": ClaudeCode,
    "codex": Codex,
    "opencode": Opencode,
    "gemini": GeminiCli,
    "pi": Pi,
}
