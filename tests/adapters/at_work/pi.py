"""Pi as a server on its streams."""

import uuid
from pathlib import Path
from typing import Any

from tests.adapters.at_work.place import Place
from tests.adapters.at_work.session import Session
from tests.adapters.at_work.talk import Record, Talk

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

    def rewind(self) -> bool:
        prompts = self._call("get_fork_messages")["messages"]
        if len(prompts) > 1:
            self._call("prompt", message=f"/back {prompts[-1]['entryId']}")
        return False

    def fork(self) -> None:
        self._call("clone")
        self._session = ["--session", self._call("get_state")["sessionFile"]]

    def rename(self, title: str) -> None:
        self._call("set_session_name", name=title)

    def close(self) -> None:
        self._talk.close()

    def kill(self) -> None:
        self._talk.kill()
