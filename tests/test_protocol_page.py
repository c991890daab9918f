"""The daemon does what the page of the protocol shows."""

import json
import re
import socket
from pathlib import Path
from typing import Any

from reeld.config import SETTINGS, _defaults
from reeld.serving.methods import METHODS
from tests.daemon import Daemon
from tests.patience import PATIENCE

_PAGE = (Path(__file__).parent.parent / "docs" / "protocol.md").read_text()
# A request or a reply, on one line or several.
_LINES = re.findall(r"^(-->|<--) (.*(?:\n {4}.*)*)", _PAGE, re.MULTILINE)
_MORE = "…"
# The parts that differ from run to run.
_VARIES = {
    "time",
    "created",
    "updated",
    "pid",
    "connection",
    "uptime",
    "longest_commit_us",
    "memory_kb",
    "connections",
    "bytes",
    "behind",
}


def parsed(text: str) -> Any:
    """Return a message of the page, in which an ellipsis may stand for more."""
    text = re.sub(r"\n {4}", " ", text)
    return json.loads(text.replace(f", {_MORE}}}", f', "{_MORE}": 0}}').replace(f", {_MORE}]", f', "{_MORE}"]'))


def same(shown: Any, came: Any) -> bool:
    """Return whether what came is what is shown, except for what varies and what is left out."""
    if isinstance(shown, dict) and isinstance(came, dict):
        fields = shown.keys() - {_MORE}
        complete = fields == came.keys() if _MORE not in shown else fields <= came.keys()
        return complete and all(field in _VARIES or same(shown[field], came[field]) for field in fields)
    if isinstance(shown, list) and isinstance(came, list):
        items = shown[:-1] if shown[-1:] == [_MORE] else shown
        complete = len(items) == len(came) or items is not shown
        return complete and all(map(same, items, came))
    if isinstance(shown, str) and isinstance(came, str) and shown.endswith(_MORE):
        return came.startswith(shown[:-1]) or re.fullmatch(r"[0-9a-f]{32,}", came) is not None
    return bool(shown == came)


def test_examples(daemon: Daemon, directory: Path) -> None:
    """The requests of the page, sent one after the other, get its replies and pushes."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        client.connect(daemon.socket)
        stream = client.makefile("rwb")
        for mark, text in _LINES:
            message = parsed(text.replace("/home/me", str(directory)))
            if mark == "-->":
                stream.write(json.dumps(message).encode() + b"\n")
                stream.flush()
            else:
                came = json.loads(stream.readline())
                # What takes long to lay out, as on a busy machine, comes in more pushes than the page shows.
                while message.get("params", {}).get("more") is False and came["params"]["more"]:
                    rest = json.loads(stream.readline())["params"]
                    came["params"]["lines"] += rest["lines"]
                    came["params"]["more"] = rest["more"]
                del came["jsonrpc"]
                assert same(message, came), (text, came)


def test_every_method_has_an_example() -> None:
    """The page shows a request of each method."""
    assert METHODS.keys() == {parsed(text)["method"] for mark, text in _LINES if mark == "-->"}


def test_limits() -> None:
    """The page states the default of each limit that is a setting."""
    rows = re.findall(r"^\| .* \| ([\d,]+)( MiB)? \| `(\S+)` \|", _PAGE, re.MULTILINE)
    told = {name: int(number.replace(",", "")) << (20 if unit else 0) for number, unit, name in rows}

    limits = {setting.name for setting in SETTINGS if setting.name.startswith("connection.")}
    assert {name: _defaults()[name] for name in {*limits, "agents.mailbox", "agents.max_live"}} == told
