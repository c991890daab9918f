"""What is said in conversations, and what commands are given, is not in the daemon's log."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from reeld.store.checksums import COLUMNS
from tests.daemon import Daemon
from tests.patience import PATIENCE
from tests.reeld.verify.damage import damage

pytestmark = pytest.mark.usefixtures("on_each_engine")

# It is in everything that is said, and in no name of an agent: those may be in the log.
MARKER = "marker-3c9f"
_SAID = [
    MARKER,
    {
        "role": "user",
        "content": [
            {"type": "text", "text": MARKER},
            {"type": "media", "mime_type": MARKER, "url": f"https://{MARKER}"},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "text": MARKER},
            {"type": "tool_call", "id": MARKER, "name": MARKER, "arguments": json.dumps({MARKER: MARKER})},
        ],
    },
    {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": MARKER, "content": MARKER}]},
    {"kind": "note", "content": MARKER, "data_json": json.dumps({MARKER: MARKER})},
]
# Calls that are done, and then such that are refused.
_DONE: list[tuple[str, list[Any]]] = [
    ("hello", [{"client": {"name": MARKER, "version": MARKER}}]),
    ("subscribe", [None]),
    ("create", ["demo", MARKER, {"title": MARKER, "tags": {MARKER: MARKER}}]),
    ("add", ["demo", _SAID, {"key": MARKER}]),
    ("add", ["demo", _SAID, {"key": MARKER}]),
    ("draft", ["demo", MARKER]),
    ("mark", ["demo", MARKER]),
    ("render", ["demo", {"format": "anthropic", "extra": {MARKER: MARKER}}]),
    (
        "ingest",
        ["demo", {"format": "openai-chat", "body": json.dumps({"choices": [{"message": {"content": MARKER}}]})}],
    ),
    ("clone", ["demo", "twin"]),
    ("kill", ["twin", {"reason": MARKER}]),
]
_REFUSED: list[tuple[str, list[Any]]] = [
    (MARKER, [MARKER]),
    ("add", ["demo", MARKER, {MARKER: MARKER}]),
    ("add", ["demo", [{"role": MARKER, "content": MARKER}]]),
    ("add", ["demo", [{"role": "user", "content": [{"type": MARKER, MARKER: MARKER}]}]]),
    ("add", ["demo", [{"kind": "note", "data_json": f"{{{MARKER}"}]]),
    ("add", ["demo", "other", {"key": MARKER}]),
    ("add", [MARKER, MARKER]),
    ("rewind", ["demo", {"label": MARKER * 2}]),
    ("rewind", ["demo", {"label": MARKER * 2, "key": "k"}]),
    ("ingest", ["demo", {"format": MARKER, "body": MARKER}]),
    ("ingest", ["demo", {"format": "gemini", "body": json.dumps({"error": {"message": MARKER}})}]),
    ("clone", ["twin", MARKER, {"at": MARKER}]),
]


@contextmanager
def line_client(daemon: Daemon) -> Iterator[socket.socket]:
    """Connect to a daemon, to speak in lines."""
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(PATIENCE)
        raw.connect(daemon.socket)
        yield raw


def line(method: str, params: Any, number: int | None = None) -> bytes:
    """Return a call as a line; a notification if it has no number."""
    return (
        json.dumps({"method": method, "params": params} | ({} if number is None else {"id": number})).encode() + b"\n"
    )


def call_all(raw: socket.socket, calls: list[tuple[str, list[Any]]]) -> list[bool]:
    """Make calls; return for each whether it was done."""
    raw.sendall(b"".join(line(method, params, number) for number, (method, params) in enumerate(calls)))
    done: dict[int, bool] = {}
    with raw.makefile() as replies:
        while len(done) < len(calls):
            reply = json.loads(replies.readline())
            if "id" in reply:
                done[reply["id"]] = "error" not in reply
    return [done[number] for number in range(len(calls))]


def test_what_was_said_and_refused(daemon: Daemon) -> None:
    """Commands that are done and pushed, commands that are refused, and notifications that fail leave no text there."""
    with line_client(daemon) as raw, line_client(daemon) as other:
        assert [True] * len(_DONE) == call_all(raw, _DONE)
        assert [False] * len(_REFUSED) == call_all(raw, _REFUSED)
        other.sendall(b"".join(line(*call) for call in _REFUSED))
        assert [True] == call_all(other, [("ping", [])])
        other.sendall(b'{"' + MARKER.encode() + b"\n" + MARKER.encode() + b"\n")
        other.shutdown(socket.SHUT_WR)
        while other.recv(1 << 16):
            pass
    daemon.end()

    log = daemon.log.read_text()
    assert log.count("notification=") == len(_REFUSED)
    assert MARKER not in log


# Rows that are no messages, each with the marker.
_ROWS = [
    ("assistant", "''", f"""'{{"blocks":[{{"type":"{MARKER}"}}]}}'"""),
    ("assistant", "''", f"""'{{"blocks":[{{"type":"text","text":"","{MARKER}":1}}]}}'"""),
    ("tool_call", "NULL", f"""'{{"{MARKER}"'"""),
    ("tool_call", f"'{MARKER}'", f"""'{{"{MARKER}":"{MARKER}"}}'"""),
    (MARKER, f"'{MARKER}'", f"'{MARKER}'"),
    ("user", f"CAST('{MARKER}' || x'ff' AS TEXT)", "NULL"),
]


@pytest.mark.file
@pytest.mark.parametrize("sealed", [True, False])
def test_what_is_stored_and_cannot_be_read(daemon: Daemon, *, sealed: bool) -> None:
    """Rows that cannot be read, and damaged ones, are reported without their text, whatever is asked of them."""
    with daemon.client() as client:
        client.create("demo")
    daemon.end()
    for number, (kind, content, data) in enumerate(_ROWS, 2):
        values = f"{number}, 1, {number}, {number}, '{kind}', {content}, {data}, {number - 1}, '{MARKER}', 1, 0"
        damage(
            daemon.database,
            f"INSERT INTO events ({', '.join((*COLUMNS, 'checksum'))}) VALUES ({values})",
            f"UPDATE agents SET head = {number}",
            sealed=sealed,
        )
    daemon.start()
    with line_client(daemon) as raw:
        asked = ("messages", "history", "replay", "verify", "undo", "redo", "render", "agent")
        call_all(raw, [(method, ["demo"]) for method in asked])
        call_all(raw, [("replay", ["demo", {"strict": True}]), ("subscribe", ["demo", 0]), ("subscribe", [None, 0])])
        call_all(raw, [("restore", ["demo", {"at": 3}]), ("verify", [])])
    daemon.end()

    log = daemon.log.read_text()
    assert log.count(" cannot be read") == len(_ROWS) - sealed  # an unknown kind is no damage
    assert MARKER not in log
