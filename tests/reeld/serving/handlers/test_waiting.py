"""A list says what conversations wait for, as the conversation itself does, without loading them."""

import json
from typing import Any

import anyio
import pytest

from reeld.serving.call import Services
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Connect, Peer


def opaque(role: str, **data: Any) -> Any:
    """Return a message with a block that asks or answers."""
    return {"role": role, "content": [{"type": "opaque", "provider": "x", "data_json": json.dumps(data)}]}


def call(call_id: str, name: str, arguments: str = "{}") -> Any:
    """Return a message that calls a tool."""
    block = {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
    return {"role": "assistant", "content": [block]}


def result(call_id: str) -> Any:
    """Return a message with a result."""
    return {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": call_id, "content": "done"}]}


def note(**data: Any) -> Any:
    """Return a record for programs."""
    return {"kind": "note", "data_json": json.dumps(data)}


_ASKS = opaque("assistant", type="function_approval_request", name="delete")
_CONFIRM = call("c2", "adk_request_confirmation", json.dumps({"originalFunctionCall": {"name": "delete"}}))
_DEFERRED = note(pydantic_ai_record=json.dumps({"deferred_tool_requests": {"approvals": [{"tool_name": "delete"}]}}))
_OPENHANDS = {
    "kind": "state",
    "content": "openhands:execution_status",
    "data_json": json.dumps({"value": "waiting_for_confirmation"}),
}
_WAITS = "waiting for an approval: delete"
_ROWS: list[tuple[list[Any], str | None]] = [
    (["Hi"], None),
    ([], None),
    ([_ASKS], _WAITS),
    ([_ASKS, opaque("user", type="function_approval_response", approved=True)], None),
    ([call("c1", "delete"), _CONFIRM], _WAITS),
    ([call("c1", "delete"), _CONFIRM, result("c1")], _WAITS),
    ([call("c1", "delete"), _CONFIRM, result("c1"), result("c2")], None),
    ([call("c1", "delete"), _DEFERRED], _WAITS),
    ([call("c1", "delete"), _DEFERRED, result("c1")], None),
    ([call("c1", "delete"), note(pydantic_ai_record='{"deferred_tool_requests": {"approvals": 5}}')], None),
    ([call("c1", "delete"), _OPENHANDS], _WAITS),
    ([call("c1", "delete"), _CONFIRM, result("c1"), *["and"] * 600], "waiting for an approval"),
]


async def waiting(peer: Peer) -> dict[str, str | None]:
    """Return what the list says that each conversation waits for."""
    return {row["name"]: row["waits"] for row in (await peer.call("agents", {"details": True}))["agents"]}


async def itself(peer: Peer, name: str) -> str | None:
    """Return what a conversation says of itself, below all else."""
    lines = (await peer.call("messages", {"agent": name, "view": "lines", "last": 5}))["lines"]
    last = [line.partition(" · ")[2] for line in lines if line.startswith("## assistant · waiting")]
    return last[0] if last else None


@pytest.mark.parametrize("number", range(len(_ROWS)))
async def test_what_a_conversation_waits_for(connect: Connect, number: int) -> None:
    """The list says the same as the conversation, of it and of a clone, and no more once that is undone."""
    rows, expected = _ROWS[number]
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("create", "demo")
        for row in rows:
            await peer.call("add", "demo", [row])
        await peer.call("clone", "demo", "copy")
        listed = await waiting(peer)

        assert {"demo": expected, "copy": expected} == listed
        assert [expected] * 2 == [await itself(peer, name) for name in ("demo", "copy")]
        await peer.call("clear", "demo")
        assert {"demo": None, "copy": expected} == await waiting(peer)


async def test_nobody_is_loaded_for_it(connect: Connect, services: Services) -> None:
    """However many conversations wait, a list loads none of them."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        for number in range(20):
            await peer.call("add", f"a{number}", [_ASKS], {"create": True})
        services.registry.residency.evict_idle(keep=0)
        started = services.registry.started

        assert {_WAITS} == set((await waiting(peer)).values())
        assert started == services.registry.started
