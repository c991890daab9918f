"""A model in the loop of a real agent finds what only an earlier conversation knows, with the tools of ``reel mcp``."""

import asyncio
import json
import os
import re
import sys
from typing import Any

import pytest

from tests.daemon import Daemon, until_indexed

sdk = pytest.importorskip("agents", reason="openai-agents is not installed")

from agents import Model  # noqa: E402
from agents.mcp import MCPServerStdio  # noqa: E402
from openai.types.responses import (  # noqa: E402 - all need what may not be installed
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

sdk.set_tracing_disabled(True)


class Scripted(Model):  # type: ignore[misc] # the SDK's types are not read
    """A model that knows nothing: it searches, reads around the first hit, and answers with what it read."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def get_response(self, *_args: Any, **given: Any) -> Any:
        """Call the next tool, or answer."""
        results = [item["output"] for item in given["input"] if item.get("type") == "function_call_output"]
        self.seen = ["".join(part["text"] for part in each) if isinstance(each, list) else each for each in results]
        if not results:
            output: Any = self._call("search", query="retry limit")
        elif len(results) == 1:
            name, seq = re.findall(r"^(\S+)$|^  #(\d+) ", self._text(0), re.MULTILINE)[:2]
            output = self._call("read", conversation=name[0], seq=int(seq[1]))
        else:
            found = re.search(r"We settled on (\d+)", self._text(1))
            text = f"It is {found[1]}." if found else "I do not know."
            part = ResponseOutputText(annotations=[], text=text, type="output_text")
            output = ResponseOutputMessage(id="m", content=[part], role="assistant", status="completed", type="message")
        return sdk.ModelResponse(output=[output], usage=sdk.Usage(), response_id=None)

    def stream_response(self, *_args: Any, **_kwargs: Any) -> Any:
        """Refuse to stream: the loop does not ask for it."""
        raise NotImplementedError

    def _text(self, number: int) -> str:
        text = self.seen[number]
        return str(json.loads(text)["text"]) if text.startswith("{") else text

    def _call(self, tool: str, **given: Any) -> ResponseFunctionToolCall:
        return ResponseFunctionToolCall(
            arguments=json.dumps(given), call_id=tool, name=tool, type="function_call", id=tool, status="completed"
        )


def test_what_only_an_earlier_conversation_knows(daemon: Daemon) -> None:
    """The model is asked something that it was never told, and answers with what was said then."""
    with daemon.client() as client:
        client.add("earlier", "What is the retry limit?", create=True)
        client.add(
            "earlier", {"role": "assistant", "content": "The retry limit was 3. We settled on 7 after the outage."}
        )
        until_indexed(client)
    environment = {**os.environ, "REEL_SOCKET": daemon.socket}
    params: Any = {"command": sys.executable, "args": ["-c", "from reel.cli import process; process()", "mcp"]}

    async def ask() -> str:
        async with MCPServerStdio({**params, "env": environment, "cwd": "/"}) as server:
            agent = sdk.Agent(name="a", model=Scripted(), mcp_servers=[server])
            return str((await sdk.Runner.run(agent, "How often do we retry?")).final_output)

    assert "It is 7." == asyncio.run(ask())
