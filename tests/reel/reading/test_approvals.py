"""Whether a conversation waits for an approval: as each framework says it."""

import json
from typing import Any

import pytest

from reel.reading.approvals import asked_for

_AF = {"type": "function_approval_request", "function_call": {"type": "function_call", "name": "delete"}}
_OPENAI = {"type": "mcp_approval_request", "name": "delete", "arguments": "{}"}
_INTERRUPT = '["msgpack",[{"$ext":[2,["langgraph.types","Interrupt",{"value":"Delete it?","id":"x"}]]}]]'


def message(role: str, *blocks: Any) -> Any:
    return {"role": role, "content": [{"type": "opaque", "provider": "x", "data_json": json.dumps(b)} for b in blocks]}


def records(*data: Any) -> Any:
    return [{"kind": "command", "data_json": each if isinstance(each, str) else json.dumps(each)} for each in data]


def graph(**data: Any) -> Any:
    return {"langgraph": {"ns": "", **data}}


def deferred(**requests: Any) -> Any:
    return {"pydantic_ai_record": json.dumps({"deferred_tool_requests": requests or None})}


@pytest.mark.parametrize(
    ("newest", "calls", "beside", "expected"),
    [
        (message("assistant", _AF), [], [], "delete"),
        (message("assistant", {"type": "other"}, _OPENAI), [], [], "delete"),
        (message("assistant", {"type": "approval_request"}), [], [], ""),
        (message("user", _AF), [], [], None),
        (None, ["adk_request_confirmation"], [], ""),
        (None, ["delete"], [], None),
        # The writes of a checkpoint may be in the log before it.
        (None, [], [graph(to="1", writes=[[-3, "__interrupt__", _INTERRUPT]]), graph(put="1")], "Delete it?"),
        (None, [], [graph(put="1"), graph(to="1", writes=[[-3, "__interrupt__", '["null"]']])], ""),
        (None, [], [graph(to="1", writes=[[-3, "__interrupt__", _INTERRUPT]]), graph(put="1"), graph(put="2")], None),
        (
            None,
            [],
            [graph(put="1"), graph(to="1", writes=[[-3, "__interrupt__", _INTERRUPT], [-4, "__resume__", "1"]])],
            None,
        ),
        (None, [], [graph(put="1"), graph(to="1", writes=[[1, 2]]), graph(to="1", writes=3)], None),
        (None, ["delete"], [deferred(calls=[], approvals=[{"tool_name": "delete"}])], "delete"),
        (None, ["delete"], [deferred(calls=[{"tool_name": "delete"}], approvals=[])], None),
        (None, [], [deferred(approvals=[{"tool_name": "delete"}])], None),
        (None, ["delete"], [deferred(approvals=[{"tool_name": "delete"}]), deferred()], None),
        (None, ["delete"], ["[redacted]", "[]", {"langgraph": 1}, {"pydantic_ai_record": "x"}], None),
    ],
)
def test_what_is_asked_for(newest: Any, calls: list[str], beside: list[Any], expected: str | None) -> None:
    """It is what the newest question names, until it is answered."""
    assert expected == asked_for(newest, calls, records(*beside))
