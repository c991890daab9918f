"""Resources, the completion of their names, and the prompt, on a real daemon."""

import pytest

from reel.mcp.protocol.frames import INVALID_PARAMS, ProtocolError
from reel.sync.client import Client
from tests.daemon import Daemon, until_indexed
from tests.reel.mcp.asking import Asker, asker

pytestmark = pytest.mark.slow
URI = "reel://conversation/team/plan"


@pytest.fixture
def plan(client: Client) -> None:
    """A conversation of a project, and a private one."""
    if not client.agents(prefix="team/").agents:
        client.create("team/plan", tags={"cwd": "/p"}, title="The plan")
        client.add("team/plan", "We use a heron.")
        client.create("team/private", tags={"cwd": "/p", "private": "yes"})
        until_indexed(client)


@pytest.mark.usefixtures("plan")
async def test_resources(daemon: Daemon) -> None:
    """The conversations of the project are resources, and each can be read; a private one is not."""
    async with asker(daemon, "/p") as ask:
        listed = await ask.handle("resources/list")
        (template,) = (await ask.handle("resources/templates/list"))["resourceTemplates"]
        read = await ask.handle("resources/read", uri=URI)
        with pytest.raises(ProtocolError) as hidden:
            await ask.handle("resources/read", uri="reel://conversation/team/private")
        with pytest.raises(ProtocolError, match="there is no page 'junk'"):
            await ask.handle("resources/list", cursor="junk")

    assert [(URI, "The plan")] == [(each["uri"], each["title"]) for each in listed["resources"]]
    assert "reel://conversation/{+name}" == template["uriTemplate"]
    assert "We use a heron." in read["contents"][0]["text"]
    assert INVALID_PARAMS == hidden.value.code


@pytest.mark.usefixtures("plan")
async def test_completion(ask: Asker) -> None:
    """Names are completed for the template, and nothing else is."""
    ref = {"type": "ref/resource", "uri": "reel://conversation/{+name}"}
    names = await ask.handle("completion/complete", ref=ref, argument={"name": "name", "value": "team/"})
    other = await ask.handle(
        "completion/complete", ref={"type": "ref/prompt"}, argument={"name": "topic", "value": "a"}
    )

    assert ["team/plan"] == names["completion"]["values"]
    assert [] == other["completion"]["values"]


@pytest.mark.usefixtures("plan")
async def test_the_prompt(daemon: Daemon) -> None:
    """The prompt has the first hits in it, and says how to go on."""
    async with asker(daemon, "/p") as ask:
        (listed,) = (await ask.handle("prompts/list"))["prompts"]
        made = await ask.handle("prompts/get", name="recall", arguments={"topic": "heron"})

    assert "recall" == listed["name"]
    assert "We use a heron." in made["messages"][0]["content"]["text"]
    assert "with NAME #SEQ of each source" in made["messages"][0]["content"]["text"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {"uri": "file:///etc/passwd"}),
        ("resources/read", {}),
        ("resources/read", {"uri": "reel://conversation/nobody"}),
        ("prompts/get", {"name": "recall"}),
        ("prompts/get", {"name": "other", "arguments": {"topic": "x"}}),
        ("completion/complete", {"ref": 5}),
    ],
)
async def test_what_is_not_there(ask: Asker, method: str, params: dict[str, object]) -> None:
    """What is not there is an error of the protocol."""
    with pytest.raises(ProtocolError) as error:
        await ask.handle(method, **params)

    assert INVALID_PARAMS == error.value.code


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("x" * 1_000_000, {}),
        ("tools/call", {"name": "x" * 1_000_000}),
        ("ping", {"_meta": {"io.modelcontextprotocol/protocolVersion": "x" * 1_000_000}}),
        ("ping", {"_meta": {"io.modelcontextprotocol/protocolVersion": ["x" * 1_000_000]}}),
    ],
)
async def test_long_mistakes(ask: Asker, method: str, params: dict[str, object]) -> None:
    """An error does not repeat all of a long mistake."""
    with pytest.raises(ProtocolError) as error:
        await ask.handle(method, **params)

    assert 500 > len(repr(error.value.as_map()))
