"""Whether a conversation waits for an approval: as each framework says it."""

import json
from typing import Any

import pytest

from reel.reading.approvals import asked_for, looked_at_after, told_in

AF = {"type": "function_approval_request", "function_call": {"type": "function_call", "name": "delete"}}
_OPENAI = {"type": "mcp_approval_request", "name": "delete", "arguments": "{}"}
_INTERRUPT = '["msgpack",[{"$ext":[2,["langgraph.types","Interrupt",{"value":"Delete it?","id":"x"}]]}]]'


MCP = {
    "type": "tool_call",
    "id": "delete",
    "name": "delete",
    "arguments": "{}",
    "provider_metadata": {"provider": "openai", "type": "mcp_approval_request"},
}
# JSON that Python cannot read.
_DEEP = f'["json",{"[" * 100_000}{"]" * 100_000}]'
_STATUS = {"content": "openhands:execution_status"}
_OF_VALUES = _INTERRUPT.replace('"Delete it?"', '{"n":1}')


def message(role: str, *blocks: Any) -> Any:
    return {"role": role, "content": [{"type": "opaque", "provider": "x", "data_json": json.dumps(b)} for b in blocks]}


def records(*data: Any) -> Any:
    made = ((each.pop("content", None), each) if isinstance(each, dict) else (None, each) for each in data)
    return [
        {
            "kind": "command" if key is None else "state",
            "content": key,
            "data_json": each if isinstance(each, str) else json.dumps(each),
        }
        for key, each in made
    ]


def stored(key: str, **value: Any) -> Any:
    return {"content": key, "value": value}


def suspended(activated: bool) -> Any:
    interrupt = {"id": "i", "name": "deletion", "reason": "Delete it?", "response": None}
    return {"interrupt_state": {"activated": activated, "interrupts": {"i": interrupt}}}


def graph(**data: Any) -> Any:
    return {"langgraph": {"ns": "", **data}}


def deferred(**requests: Any) -> Any:
    return {"pydantic_ai_record": json.dumps({"deferred_tool_requests": requests or None})}


@pytest.mark.parametrize(
    ("newest", "calls", "beside", "expected"),
    [
        (message("assistant", AF), [], [], "delete"),
        (message("assistant", {"type": "other"}, _OPENAI), [], [], "delete"),
        (message("assistant", {"type": "approval_request"}), [], [], ""),
        (message("user", AF), [], [], None),
        (None, ["adk_request_confirmation"], [], ""),
        ({"role": "assistant", "content": [MCP]}, ["delete"], [], "delete"),
        ({"role": "assistant", "content": [MCP]}, [], [], None),
        (None, [], [stored("strands:agent", _internal_state=suspended(True))], "Delete it?"),
        (None, [], [stored("strands:agent", _internal_state=suspended(False))], None),
        (None, [], [stored("strands:agent", _internal_state=suspended(True)), stored("strands:agent")], None),
        (None, ["delete"], [{**_STATUS, "value": "waiting_for_confirmation"}], "delete"),
        (None, ["delete"], [{**_STATUS, "value": "running"}], None),
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
        (None, ["delete"], [deferred(approvals=5)], None),
        (None, ["delete"], [deferred(approvals={"tool_name": "delete"})], None),
        (None, ["delete"], ["[redacted]", "[]", {"langgraph": 1}, {"pydantic_ai_record": "x"}], None),
    ],
)
def test_what_is_asked_for(newest: Any, calls: list[str], beside: list[Any], expected: str | None) -> None:
    """It is what the newest question names, until it is answered."""
    assert expected == asked_for([newest] if newest else [], [(name, name) for name in calls], records(*beside))


def test_a_question_that_results_follow() -> None:
    """A call that asks is named also behind what its tools have said; a block that asks is answered by what follows."""
    given = json.dumps({"originalFunctionCall": {"name": "delete", "args": {}}})
    confirm = {"type": "tool_call", "id": "c1", "name": "adk_request_confirmation", "arguments": given}
    asked: Any = {"role": "assistant", "content": [confirm]}
    refused: Any = {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c2", "content": "wait"}]}

    assert "delete" == asked_for([asked, refused], [("c1", "adk_request_confirmation")], [])
    assert asked_for([asked, refused], [], []) is None
    block = {"type": "opaque", "data_json": json.dumps({"type": "function_approval_request", "name": "delete"})}
    asked = {"role": "assistant", "content": [block]}
    assert "delete" == asked_for([asked], [], [])
    assert asked_for([asked, refused], [], []) is None


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (graph(to="1", writes=[[-3, "__interrupt__", _INTERRUPT]]), "asks: Delete it?"),
        (graph(to="1", writes=[[-3, "__interrupt__", '["null"]']]), "asks a question"),
        (
            graph(to="1", writes=[[-3, "__interrupt__", _OF_VALUES]]),
            'asks: {"n": 1}',
        ),
        (graph(to="1", task="0000-00", writes=[[-4, "__resume__", '["msgpack","yes"]']]), "answered: yes"),
        (graph(to="1", task="0000-00", writes=[[-4, "__resume__", '["null"]']]), "answered"),
        (graph(to="1", task="fd4a", writes=[[-4, "__resume__", '["msgpack",["yes"]]']]), None),
        (graph(to="1", writes=[[-3, "__interrupt__", _DEEP]]), "asks a question"),
        (graph(to="1", task="0000-00", writes=[[-4, "__resume__", _DEEP]]), "answered"),
        (graph(put="1"), None),
        ("[]", None),
    ],
)
def test_what_a_graph_asks(record: Any, expected: str | None) -> None:
    """An interrupt and its answer are told where they are in the log; what each task got of it is not."""
    assert expected == told_in(records(record)[0])


def test_how_far_back_is_looked() -> None:
    """A conversation of a million messages is not read whole for a record that it does not have."""
    assert [0, 0, 999_000] == [looked_at_after(newest) for newest in (0, 1000, 1_000_000)]


def test_a_damaged_record_asks_nothing() -> None:
    """What is left of a record whose checksum is wrong is not what a framework wrote."""
    asking = records(graph(put="1", to="0"), graph(to="1", writes=[[0, "__interrupt__", _INTERRUPT]]))
    damaged: Any = [{**each, "damaged": True} for each in asking]

    assert "Delete it?" == asked_for([], (), asking)
    assert asked_for([], (), damaged) is None
