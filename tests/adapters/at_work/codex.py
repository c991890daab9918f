"""Codex as a server for editors."""

from pathlib import Path
from typing import Any

from tests.adapters.at_work.place import Place
from tests.adapters.at_work.session import Session
from tests.adapters.at_work.talk import Record, Talk


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

    def rewind(self) -> bool:
        if len(self._turns) > 1:
            self._call("thread/revert", threadId=self._id, beforeTurnId=self._turns.pop())
        return False

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
