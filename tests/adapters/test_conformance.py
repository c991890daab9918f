"""The conformance suite of the Model Context Protocol, over a bridge: it knows HTTP, and the server a pipe.

Of its 32 scenarios, these are about what the server has. The others are about images, audio, progress, logs,
subscriptions, sampling, elicitation and a schema with references, which it does not declare, and about HTTP itself.
"""

import os
import subprocess
import sys

import pytest

from tests.adapters.http_bridge import Frame, bridge
from tests.adapters.programs import PACKAGES, program, search_path
from tests.daemon import Daemon, until_indexed
from tests.patience import PATIENCE

COMMAND = [sys.executable, "-c", "from reel.cli import process; process()", "mcp", "--no-import"]
NAME = "talk-123"
# What the suite asks of its example server, by the method and the name, and what is asked of ours.
INSTEAD: dict[tuple[str, str], Frame] = {
    ("tools/call", "test_simple_text"): {"name": "conversations"},
    ("tools/call", "test_error_handling"): {"name": "read", "arguments": {"conversation": "nobody"}},
    ("resources/read", "test://static-text"): {"uri": f"reel://conversation/{NAME}"},
    ("resources/read", "test://template/123/data"): {"uri": f"reel://conversation/{NAME}"},
    ("prompts/get", "test_simple_prompt"): {"name": "recall", "arguments": {"topic": "gateway"}},
    ("prompts/get", "test_prompt_with_arguments"): {
        "name": "recall",
        "arguments": {"topic": "testValue1 OR testValue2"},
    },
}
SCENARIOS = [
    "server-initialize",
    "ping",
    "completion-complete",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "resources-list",
    "resources-read-text",
    "resources-templates-read",
    "prompts-list",
    "prompts-get-simple",
    "prompts-get-with-args",
]


def ours(message: Frame) -> Frame:
    """Return a message of the suite, with what our server has in it."""
    params = message.get("params", {})
    instead = INSTEAD.get((message.get("method", ""), params.get("name") or params.get("uri") or ""))
    return message if instead is None else {**message, "params": {**params, **instead}}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario(daemon: Daemon, scenario: str) -> None:
    """The suite finds nothing wrong."""
    conformance = program("conformance")
    if conformance is None:
        pytest.skip(f"{PACKAGES['conformance']} is not installed; python -m tests.adapters.programs installs it")
    with daemon.client() as client:
        if not client.agents(prefix=NAME).agents:
            client.add(NAME, "Which port has the gateway?", create=True)
            until_indexed(client)
    environment = {**os.environ, "PATH": search_path(os.environ["PATH"]), "REEL_SOCKET": daemon.socket}
    with bridge(COMMAND, environment, ours) as server:
        ran = subprocess.run(
            [conformance, "server", "--url", server.address, "--scenario", scenario, "--verbose"],
            check=False,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    assert 0 == ran.returncode, ran.stdout + ran.stderr
    assert '"SUCCESS"' in ran.stdout
