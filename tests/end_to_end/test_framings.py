"""Other people's programs against a real daemon: nc, socat, and the client library of VS Code."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("on_each_engine")

ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {"pong": True}}


def needs(program: str) -> pytest.MarkDecorator:
    """Skip a test if a program is missing."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


def run(*command: str, given: bytes = b"") -> bytes:
    """Run a program to its end; return its output."""
    done = subprocess.run(command, input=given, capture_output=True, check=False, timeout=PATIENCE)
    assert 0 == done.returncode, done.stderr.decode()
    return done.stdout


def bodies(data: bytes) -> list[Any]:
    """Read messages with headers, and check the exact bytes of each header."""
    found = []
    while data:
        header, _, rest = data.partition(b"\r\n\r\n")
        length = int(header.removeprefix(b"Content-Length: "))
        assert b"Content-Length: %d" % length == header
        found.append(json.loads(rest[:length]))
        data = rest[length:]
    return found


@needs("nc")
def test_nc(daemon: Daemon, client: Client) -> None:
    """A shell script writes and reads lines; its last line needs no newline, and it gets every reply."""
    client.create("demo")
    asked = [
        '{"jsonrpc":"2.0","id":1,"method":"ping"}',
        '{"id":"b","method":"add","params":["demo","hé"]}',
        '{"method":"add","params":{"agent":"demo","messages":"silent"}}',
        "",
        "no json",
        '{"id":3,"method":"messages","params":["demo",{"limit":1}]}',
    ]
    answers = {
        answer["id"]: answer
        for answer in map(
            json.loads, run("nc", "-N", "-U", daemon.socket, given="\n".join(asked).encode()).splitlines()
        )
    }

    assert {1, "b", 3, None} == answers.keys()
    assert answers[1] == ANSWER
    assert (2, -32700) == (answers["b"]["result"]["head"], answers[None]["error"]["code"])
    assert [{"type": "text", "text": "hé"}] == answers[3]["result"]["messages"][0]["content"]
    assert [2, 3] == [message["seq"] for message in client.messages("demo").messages]


@needs("nc")
def test_the_shell_lines_of_the_protocol_page(daemon: Daemon) -> None:
    """The shell examples of the protocol's page work, and print what the page says."""
    text = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text()
    (script,) = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    (shown,) = re.findall(r"^```json\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "REEL_SOCKET": daemon.socket, "PATH": path}
    done = subprocess.run(["sh", "-ec", script], env=environment, capture_output=True, check=True, timeout=PATIENCE)
    first, second = map(json.loads, done.stdout.splitlines())
    expected = json.loads(shown)

    assert 2 == first["result"]["head"]
    expected["result"]["agent"] = second["result"]["agent"]
    expected["result"]["messages"][0]["time"] = second["result"]["messages"][0]["time"]
    assert expected == second


@needs("nc")
def test_nc_with_another_protocol(daemon: Daemon) -> None:
    """A client that speaks another protocol gets one line that names the supported ones."""
    (line,) = run("nc", "-N", "-U", daemon.socket, given=b"GET / HTTP/1.0\r\n\r\n").splitlines()

    assert line.startswith(b"reeld speaks ")


@needs("socat")
def test_socat(daemon: Daemon) -> None:
    """Messages with headers, sent one byte at a time, get replies with headers."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    request = b"Content-Type: x\r\ncontent-length:%d\r\n\r\n%b" % (len(body), body)
    command = ("socat", "-b1", "-t5", "-", f"UNIX-CONNECT:{daemon.socket}")

    assert [ANSWER] * 3 == bodies(run(*command, given=request * 3))


# --- Node

SCRIPT = """
const net = require('net');
const rpc = require('vscode-jsonrpc/node');
const socket = net.connect(process.argv[2]);
const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(socket), new rpc.StreamMessageWriter(socket));
const told = [];
connection.onNotification((method, params) => told.push([method, params]));
connection.listen();
(async () => {
  const out = {};
  out.hello = await connection.sendRequest('hello', {client: {name: 'node'}});
  out.byName = await connection.sendRequest('add', {agent: 'demo', messages: 'by name \\u00e9', create: true});
  out.byPosition = await connection.sendRequest('add', 'demo', ['by position']);
  const shown = ({code, message, data}) => ({code, message, data});
  out.error = await connection.sendRequest('agent', 'zed').catch(shown);
  const many = [];
  for (let i = 0; i < 200; i++) many.push(connection.sendRequest('add', 'demo', `n${i}`));
  out.heads = (await Promise.all(many)).map(r => r.head);
  const source = new rpc.CancellationTokenSource();
  const slow = connection.sendRequest('stats', source.token);
  source.cancel();
  out.cancelled = Object.keys(await slow).length > 0;
  const long = 'x\\u00e9'.repeat(3 << 20);
  await connection.sendRequest('add', 'demo', long);
  const page = await connection.sendRequest('messages', 'demo', {last: 1});
  out.long = page.messages[0].content[0].text === long;
  connection.sendNotification('call_async', 7, 'ping');
  connection.sendNotification('add', 'demo', 'last');
  await connection.sendRequest('hello', {notify: ['f', 'a']});
  connection.sendNotification('call_async', {token: 'eight', method: 'nonsense'});
  await connection.sendRequest('ping');
  out.told = told;
  console.log(JSON.stringify(out));
  connection.end();
})();
"""


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory where Node finds vscode-jsonrpc."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node or npm is not installed")
    directory = tmp_path_factory.mktemp("node")
    # Where there is no registry, npm waits 10 s and then 60 s between its tries: that took a seventh of the gate.
    pauses = ("--fetch-retry-mintimeout", "1000", "--fetch-retry-maxtimeout", "2000")
    quiet = ("--no-audit", "--no-fund")
    command = ("npm", "install", *quiet, *pauses, "--prefix", str(directory), "vscode-jsonrpc@8.2.1")
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
    except subprocess.SubprocessError:
        pytest.skip("npm cannot install vscode-jsonrpc")
    (directory / "talk.js").write_text(SCRIPT)
    return directory


@pytest.mark.large
def test_vscode_jsonrpc(daemon: Daemon, client: Client, node: Path) -> None:
    """VS Code's client calls by name and position, pipelines, cancels, sends megabytes and receives notifications."""
    said = json.loads(run("node", str(node / "talk.js"), daemon.socket))

    assert "json-rpc" == said["hello"]["framing"]
    assert (2, 3) == (said["byName"]["head"], said["byPosition"]["head"])
    assert {
        "code": -32004,
        "message": "not_found: no agent zed; make one with create, or add with create",
        "data": {"name": "not_found", "agent": "zed"},
    } == said["error"]
    assert list(range(4, 204)) == said["heads"]
    assert said["cancelled"]
    assert said["long"]
    plain, (method, (first, (name, reply))) = said["told"]
    assert ["reply", {"token": 7, "result": {"pong": True}}] == plain
    assert ("f", "a", "reply", "eight") == (method, first, name, reply["token"])
    assert (-32601, "method_not_found") == (reply["error"]["code"], reply["error"]["name"])
    assert [{"type": "text", "text": "last"}] == client.messages("demo", last=1).messages[0]["content"]
