"""The examples do what their pages say."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from reel import Block, DraftPush
from reel.wire.pushes import Push
from tests import reused_daemon
from tests.daemon import Daemon
from tests.end_to_end import answers
from tests.end_to_end.provider import Json, Provider, serving
from tests.patience import PATIENCE

# Without the conversations of other tests.
daemon, prepared, reused = reused_daemon.daemon, reused_daemon.prepared, reused_daemon.reused
_EXAMPLES = Path(__file__).parent.parent / "examples"


def require(module: str, reason: str) -> None:
    """Skip if a module is not installed. It is not imported here: a framework would stay in memory, up to 60 MB."""
    if find_spec(module.partition(".")[0]) is None or find_spec(module) is None:
        pytest.skip(reason)


class Running:
    """A program on pipes."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def type(self, line: str) -> None:
        """Write a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def read(self, count: int) -> list[str]:
        """Read so many lines, stripped."""
        assert self._process.stdout is not None
        return [self._process.stdout.readline().strip() for _ in range(count)]

    def leave(self) -> int:
        """Press Ctrl-D; return the exit status."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait(PATIENCE)

    def interrupt(self) -> int:
        """Press Ctrl-C; return the exit status."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(PATIENCE)


# The roles of two turns, the first of which calls a tool.
_TWO_TURNS = ["user", "assistant", "tool", "assistant", "user", "assistant"]


@contextmanager
def running(daemon: Daemon, name: str, *words: str, **environment: str) -> Iterator[Running]:
    """Run an example during the block."""
    environment = {**os.environ, "REEL_SOCKET": daemon.socket, **environment}
    command = [sys.executable, str(_EXAMPLES / name), *words]
    with subprocess.Popen(
        command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield Running(process)
        finally:
            process.kill()


def asked_twice(daemon: Daemon, example: str, agent: str, answer: str = "Noon.", **environment: str) -> list[str]:
    """Run an example for each of two questions; return the roles of its messages then."""
    for said in ("What time is it?", "Are you sure?"):
        with running(daemon, example, "ann", said, **environment) as program:
            assert [answer] == program.read(1)
    with daemon.client() as client:
        return [message["role"] for message in client.iter_messages(agent)]


def openai_at(provider: Provider) -> dict[str, str]:
    """Return the variables that lead a program to a provider in the place of OpenAI's."""
    return {"OPENAI_BASE_URL": f"{provider.url}/v1", "OPENAI_API_KEY": "none"}


def test_every_example_is_listed_and_tested() -> None:
    """Every example has a line in the table, and a test here."""
    there = {path.name for path in _EXAMPLES.iterdir() if path.suffix in (".py", ".sh")}

    assert there == set(re.findall(r"^\| \[(\S+)\]", (_EXAMPLES / "README.md").read_text(), re.MULTILINE))
    assert [] == [name for name in there if f'"{name}"' not in Path(__file__).read_text()]


def test_scratchpad(daemon: Daemon) -> None:
    """Two terminals show the same lines, whoever types them; a third one that joins later sees the conversation."""
    with running(daemon, "scratchpad.py", "pad") as one, running(daemon, "scratchpad.py", "pad") as two:
        one.type("milk")
        assert ["2  milk"] == one.read(1) == two.read(1)
        two.type("eggs")
        two.type("/undo")
        assert ["3  eggs", "------ restore", "2  milk"] == one.read(3) == two.read(3)
        two.type("/undo")
        two.type("/undo")
        assert ["------ restore"] == one.read(1)
        assert ["------ restore", "nothing_to_undo"] == sorted(line.partition(":")[0] for line in two.read(2))
        one.type("bread")
        assert ["6  bread"] == one.read(1) == two.read(1)
        assert 0 == one.leave()

    with running(daemon, "scratchpad.py", "pad") as three:
        assert ["6  bread"] == three.read(1)


@pytest.mark.skipif(None in (shutil.which("nc"), shutil.which("jq")), reason="nc or jq is not installed")
def test_netcat(daemon: Daemon) -> None:
    """The example adds its stdin and prints the whole conversation; a refusal sets the exit status."""

    def run(said: str, name: str) -> tuple[int, str]:
        environment = {**os.environ, "REEL_SOCKET": daemon.socket}
        ran = subprocess.run(
            [_EXAMPLES / "netcat.sh", name],
            env=environment,
            input=said,
            text=True,
            capture_output=True,
            check=False,
            timeout=PATIENCE,
        )
        return ran.returncode, ran.stdout

    assert (0, 'user: a "tape\n') == run('a "tape\n', "pad")
    assert (0, 'user: a "tape\nuser: and more\n') == run("and more", "pad")
    assert (1, "") == run("hi", "no name")


def test_agent(daemon: Daemon) -> None:
    """The agent answers messages from before and after its start, and shows its answer as it grows."""
    with serving("openai_responses") as provider, daemon.client() as client:
        provider.answers += [answers.responses_words("Hi", " there"), answers.responses_words("Bye")]
        client.add("ann", "Hello", create=True)
        where = f"{provider.url}/v1"
        with (
            client.subscribe("ann") as drafts,
            running(daemon, "agent.py", "ann", "small", OPENAI_BASE_URL=where) as agent,
        ):
            assert ["ann: listening", "answered #2"] == agent.read(2)
            client.add("ann", "See you")
            (line,) = agent.read(1)
            shown = next(push.text for push in drafts if isinstance(push, DraftPush))
        said = [message["content"] for message in client.messages("ann").messages]

    assert line.startswith("answered #")
    assert shown.startswith("Hi")
    assert ["Hello", "Hi there", "See you", "Bye"] == ["".join(map(text_of, content)) for content in said]
    assert [] == provider.problems
    assert ["small", True] == [provider.bodies[0][key] for key in ("model", "stream")]


def test_agent_that_is_interrupted(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a user writes during the answer, it is added, and the agent answers again, with it before what was written."""
    with serving("openai_responses") as provider, daemon.client() as client:
        provider.answers += [answers.responses_words("Hi"), answers.responses_words("Bye")]
        answer = provider.answer

        def speak_meanwhile(path: str, body: Json) -> Json | list[Json]:
            if not provider.bodies:
                client.add("ann", "One more thing")
            return answer(path, body)

        monkeypatch.setattr(provider, "answer", speak_meanwhile)
        client.add("ann", "Hello", create=True)
        with running(daemon, "agent.py", "ann", "small", OPENAI_BASE_URL=f"{provider.url}/v1") as agent:
            assert ["ann: listening", "answered #2", "answered #4"] == agent.read(3)

    assert [] == provider.problems
    assert ["Hello", "Hi", "One more thing"] == [message["content"] for message in provider.bodies[1]["input"]]


def test_agent_with_tools(daemon: Daemon) -> None:
    """The agent uses its tools, reports the failure of a tool to the model, and answers with the results."""
    with serving("openai_responses") as provider, daemon.client() as client:
        provider.answers += [
            answers.responses_calls(("c1", "add", '{"a": 2, "b": 3}'), ("c2", "add", '{"a": 2}')),
            answers.responses_words("Five"),
        ]
        client.add("ann", "2 + 3?", create=True)
        with running(daemon, "agent.py", "ann", "small", OPENAI_BASE_URL=f"{provider.url}/v1") as agent:
            assert ["ann: listening", "answered #2", "answered #5"] == agent.read(3)
        results = [message["content"][0] for message in client.messages("ann").messages if message["role"] == "tool"]

    assert [("5", False), ("TypeError", True)] == [
        (str(block["content"]).partition(":")[0], block["is_error"])
        for block in results
        if block["type"] == "tool_result"
    ]
    assert [] == provider.problems
    assert "5" == provider.bodies[1]["input"][-2]["output"]


def _call_and_words() -> tuple[Json, Json]:
    """Return two answers of Responses: a call, and words."""
    call, words = (answers.responses("c1"), answers.responses("c1"))
    call["output"] = [
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "what_time_is_it", "arguments": "{}"}
    ]
    words["output"] = [
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Noon.", "annotations": []}],
        }
    ]
    return call, words


@pytest.mark.parametrize(
    ("package", "module", "example", "agent"),
    [
        ("openai-agents", "agents", "openai_agents.py", "ann"),
        ("pydantic-ai-slim", "pydantic_ai", "pydantic_ai_agent.py", "pydantic-ai/ann"),
    ],
)
def test_an_agent_of_a_framework(daemon: Daemon, package: str, module: str, example: str, agent: str) -> None:
    """The second run of the program sends what was said in the first, the call of the tool and its result included."""
    require(module, reason=f"{package} is not installed")
    call: Json | list[Json]
    words: Json | list[Json]
    call, words = _call_and_words()
    if module == "pydantic_ai":  # it streams
        call, words = answers.responses_calls(("c1", "what_time_is_it", "{}")), answers.responses_words("No", "on.")
    with serving("openai_responses") as provider:
        provider.answers += [call, words, words]
        environment = {**openai_at(provider), "OPENAI_AGENTS_DISABLE_TRACING": "1"}
        roles = asked_twice(daemon, example, agent, **environment)

    assert _TWO_TURNS == roles
    assert [] == provider.problems
    assert ["What time is it?", "Are you sure?"] == [
        item["content"] for item in provider.bodies[2]["input"] if item.get("role") == "user"
    ]


def test_agent_framework(daemon: Daemon) -> None:
    """The second run of the program sends what was said in the first, the call of the tool and its result included."""
    require("agent_framework", reason="agent-framework-core is not installed")
    call, words = _call_and_words()
    with serving("openai_responses") as provider:
        provider.answers += [call, words, words]
        roles = asked_twice(daemon, "agent_framework_history.py", "agent-framework/ann", **openai_at(provider))

    assert _TWO_TURNS == roles
    assert [] == provider.problems
    assert ["What time is it?", "Are you sure?"] == [
        item["content"][0]["text"] for item in provider.bodies[2]["input"] if item.get("role") == "user"
    ]


def test_claude_agent(daemon: Daemon, tmp_path: Path) -> None:
    """The second run of the program goes on with the first, and reads what somebody else has added in between."""
    require("claude_agent_sdk", reason="claude-agent-sdk is not installed")
    claude = tmp_path / "claude"
    claude.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).parent / "fake_claude.py"} "$@"\n')
    claude.chmod(0o700)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": ""}
    with running(daemon, "claude_agent.py", "One.", **environment) as program:
        assert ["One."] == program.read(1)
        assert 0 == program.leave()
    with daemon.client() as client:
        (agent,) = client.iter_agents("claude/")
        client.add(agent.id, "Two.")
        with running(daemon, "claude_agent.py", "Three.", **environment) as program:
            assert ["One. Two. Three."] == program.read(1)
            assert 0 == program.leave()
        said = [block.get("text") for message in client.iter_messages(agent.id) for block in message["content"]]

    assert ["One.", "One.", "Two.", "Three.", "One. Two. Three."] == said


def test_google_adk(daemon: Daemon) -> None:
    """The second run of the program sends what was said in the first, the call of the tool and its result included."""
    require("google.adk", reason="google-adk is not installed")

    def answer(part: Json) -> Json:
        return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}]}

    words = answer({"text": "Noon."})
    with serving("gemini") as provider:
        provider.answers += [answer({"functionCall": {"name": "what_time_is_it", "args": {}}}), words, words]
        environment = {"GOOGLE_GEMINI_BASE_URL": provider.url, "GOOGLE_API_KEY": "none"}
        roles = asked_twice(daemon, "google_adk_agent.py", "adk/deck/me/ann", **environment)

    assert _TWO_TURNS == roles
    assert ["What time is it?", "Are you sure?"] == [
        part["text"] for content in provider.bodies[2]["contents"] for part in content["parts"] if "text" in part
    ][::2]


def test_openhands(daemon: Daemon) -> None:
    """The second run of the program sends what was said in the first."""
    require("openhands.sdk", reason="openhands-sdk is not installed")
    session, words = "0a1b2c3d-0000-4000-8000-000000000001", answers.responses_text("Noon.")
    with serving("openai_responses") as provider, daemon.client() as client:
        provider.answers += [words, words]
        environment = {"OPENAI_BASE_URL": f"{provider.url}/v1", "OPENAI_API_KEY": "none"}
        environment |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENHANDS_SUPPRESS_BANNER": "1", "LOG_LEVEL": "ERROR"}
        for said in ("What time is it?", "Are you sure?"):
            with running(daemon, "openhands_agent.py", session, said, **environment) as program:
                assert ["Noon."] == program.read(1)
        roles = [message["role"] for message in client.iter_messages(f"openhands/{session}")][1:]

    assert ["user", "assistant", "user", "assistant"] == roles
    assert [] == [problem for problem in provider.problems if not problem.careless]
    assert ["user", "assistant", "user"] == [item["role"] for item in provider.bodies[1]["input"]]


def test_strands(daemon: Daemon) -> None:
    """The second run of the program sends what was said in the first, the call of the tool and its result included."""
    require("strands", reason="strands-agents is not installed")
    call, words = answers.chat_calls(("c1", "what_time_is_it", "{}")), answers.chat_words("Noon.")
    with serving("openai_chat") as provider:
        provider.answers += [call, words, words]
        roles = asked_twice(daemon, "strands_agent.py", "strands/ann/default", **openai_at(provider))

    assert _TWO_TURNS == roles
    # The oldest versions write a call without words as an empty list of parts.
    problems = [problem for problem in provider.problems if not problem.careless]
    assert [] == [problem for problem in problems if problem.rule != "empty-content-array"]
    assert ["system", "user", "assistant", "tool", "assistant", "user"] == [
        message["role"] for message in provider.bodies[2]["messages"]
    ]


def _words(text: str) -> Json:
    """Return an answer of Chat Completions of words."""
    found = answers.chat()
    found["choices"][0]["message"]["content"] = text
    return {**found, "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}


def _call(name: str, arguments: str) -> Json:
    """Return an answer of Chat Completions that calls a function."""
    found = _words("")
    called = {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}
    found["choices"][0] |= {"finish_reason": "tool_calls"}
    found["choices"][0]["message"] |= {"content": None, "tool_calls": [called]}
    return found


@pytest.mark.parametrize(
    ("package", "example", "said", "roles"),
    [
        (
            "autogen_ext",
            "autogen_agent.py",
            [_call("what_time_is_it", "{}"), _words("Noon."), _words("Noon.")],
            _TWO_TURNS,
        ),
        (
            "smolagents",
            "smolagents_agent.py",
            [_call("final_answer", '{"answer": "Noon."}')] * 2,
            ["user", "assistant", "user", "assistant"],
        ),
        (
            "dspy",
            "dspy_program.py",
            [_words("[[ ## answer ## ]]\nNoon.\n\n[[ ## completed ## ]]")] * 2,
            ["user", "assistant", "user", "assistant"],
        ),
        ("llama_index", "llamaindex_chat.py", [_words("Noon.")] * 2, ["user", "assistant", "user", "assistant"]),
    ],
)
def test_a_framework_without_an_adapter(
    daemon: Daemon, package: str, example: str, said: list[Json], roles: list[str]
) -> None:
    """The second run of the program sends what was said in the first, and what somebody else has changed in between."""
    require(package, reason=f"{package} is not installed")
    with serving("openai_chat") as provider, daemon.client() as client:
        provider.answers += said
        name = f"ann-{package}"
        for asked in ("What time is it?", "Are you sure?"):
            with running(daemon, example, name, asked, **openai_at(provider)) as program:
                assert ["Noon."] == program.read(1)
                assert 0 == program.leave()
            if asked == "What time is it?":
                (*_, last) = client.iter_messages(name)
                client.add(name, [{"role": "assistant", "content": "It is noon."}], from_=last["seq"])
        found = [message["role"] for message in client.iter_messages(name)]

    assert roles == found
    sent = json.dumps(provider.bodies[-1]["messages"])
    assert ["What time is it?", "It is noon.", "Are you sure?"] == re.findall(
        r"What time is it\?|It is noon\.|Are you sure\?", sent
    )


def test_langgraph(daemon: Daemon) -> None:
    """The second run of the program sends what was said in the first, the call of the tool and its result included."""
    require("langgraph.prebuilt", reason="langgraph is not installed")
    call, words = answers.chat(), answers.chat()
    asked = {"id": "c1", "type": "function", "function": {"name": "what_time_is_it", "arguments": "{}"}}
    call["choices"][0]["message"] |= {"content": None, "tool_calls": [asked]}
    with serving("openai_chat") as provider:
        provider.answers += [call, words, words]
        roles = asked_twice(daemon, "langgraph_agent.py", "langgraph/ann", "the last word", **openai_at(provider))

    assert _TWO_TURNS == roles
    # The framework leaves the name of the tool in its result.
    assert [] == [problem for problem in provider.problems if not problem.careless]
    assert ["user", "assistant", "tool", "assistant", "user"] == [
        message["role"] for message in provider.bodies[2]["messages"]
    ]


def is_draft(push: Push) -> bool:
    """Return whether a push shows a draft."""
    return isinstance(push, DraftPush)


def text_of(block: Block) -> str:
    """Return the text of a block."""
    return block["text"] if block["type"] == "text" else ""


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize(
    ("words", "api", "variable", "response"),
    [
        (["anthropic"], "anthropic", "ANTHROPIC", answers.anthropic_stream("c1")),
        (["openai"], "openai_responses", "OPENAI", answers.responses_words("Hi")),
        (["gemini", "m"], "gemini", "GEMINI", [{"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]}]),
    ],
)
def test_provider(words: list[str], api: str, variable: str, response: list[Json]) -> None:
    """The script sends what it reads, prints what comes back, and keeps the key out of the command line."""
    body = {"model": "m", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
    if api == "openai_responses":
        body = {"model": "m", "stream": True, "input": "Hello"}
    elif api == "gemini":
        body = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
    with serving(api) as provider:
        provider.answers.append(response)
        url = f"{provider.url}/v1" if variable == "OPENAI" else provider.url
        environment = {**os.environ, f"{variable}_BASE_URL": url, f"{variable}_API_KEY": "secret"}
        ran = subprocess.run(
            ["bash", "-x", str(_EXAMPLES / "provider.sh"), *words],
            env=environment,
            input=json.dumps(body),
            text=True,
            capture_output=True,
            check=True,
            timeout=PATIENCE,
        )

    assert ran.stdout.startswith(("data: ", "event: "))
    assert body == provider.bodies[0]
    assert "secret" not in next(line for line in ran.stderr.splitlines() if "exec curl" in line)


def test_provider_without_a_key() -> None:
    """The script names the variable that is missing, and its usage."""
    script = str(_EXAMPLES / "provider.sh")
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    ran = [
        subprocess.run([script, *words], env=environment, text=True, capture_output=True, check=False)
        for words in (["openai"], [])
    ]

    assert ["OPENAI_API_KEY: is not set", "usage: provider.sh anthropic | openai | gemini MODEL"] == [
        each.stderr.strip()[-len(expected) :]
        for each, expected in zip(
            ran, ("OPENAI_API_KEY: is not set", "usage: provider.sh anthropic | openai | gemini MODEL"), strict=True
        )
    ]


def test_agent_that_is_told_nothing() -> None:
    """Without arguments the example prints its usage."""
    ran = subprocess.run(
        [sys.executable, str(_EXAMPLES / "agent.py")], capture_output=True, text=True, check=False, timeout=PATIENCE
    )

    assert 1 == ran.returncode
    assert "examples/agent.py NAME MODEL" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_scratchpad_that_is_interrupted(daemon: Daemon) -> None:
    """Ctrl-C ends the example without a traceback."""
    with running(daemon, "scratchpad.py") as pad:
        pad.type("a line")
        pad.read(1)

        assert 0 == pad.interrupt()
