"""The blocks that ask a person and that answer: as each framework has them."""

import json
from typing import Any

import pytest

from reel.reading.questions import Decision, Question, decision_in, question_in
from tests.reel.reading.test_approvals import AF, MCP


def called(name: str, **arguments: Any) -> Any:
    return {"type": "tool_call", "id": "a", "name": name, "arguments": json.dumps(arguments)}


def opaque(**data: Any) -> Any:
    return {"type": "opaque", "provider": "x", "data_json": json.dumps(data)}


_ORIGINAL = {"id": "d", "name": "delete", "args": {"n": 1}}


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (opaque(**AF), Question("", "asks for an approval of delete", "delete", "")),
        (opaque(type="approval_request", arguments={"n": 1}), Question("", "asks for an approval", "", '{"n": 1}')),
        (MCP, Question("delete", "asks for an approval of delete", "delete", "{}")),
        (
            called("adk_request_confirmation", originalFunctionCall=_ORIGINAL),
            Question("a", "asks for an approval of delete", "delete", '{"n": 1}'),
        ),
        (
            called("adk_request_confirmation", originalFunctionCall=_ORIGINAL, toolConfirmation={"hint": "Really?"}),
            Question("a", "asks for an approval of delete", "delete", "Really?"),
        ),
        (called("adk_request_input", message="Which?"), Question("a", "asks a question", "", "Which?")),
        (called("adk_request_credential", x=1), Question("a", "asks for a credential", "", '{"x": 1}')),
        (called("delete"), None),
        (opaque(type="reasoning", of="an approval_request"), None),
        ({"type": "opaque", "provider": "x", "data_json": "approval_request"}, None),
        ({"type": "text", "text": "approval_request"}, None),
    ],
)
def test_questions(block: Any, expected: Question | None) -> None:
    """A question is read from a block as each framework has it."""
    assert expected == question_in(block)


def result(content: Any) -> Any:
    return {"type": "tool_result", "tool_call_id": "a", "content": content, "is_error": False}


@pytest.mark.parametrize(
    ("block", "tool", "expected"),
    [
        (opaque(type="function_approval_response", approved=True), "", Decision("approved", "")),
        (
            opaque(type="function_approval_response", approved=False, function_call={"name": "delete"}),
            "",
            Decision("refused delete", ""),
        ),
        (
            result([opaque(type="mcp_approval_response", approve=False, reason="Not now.")]),
            "delete",
            Decision("refused", "Not now."),
        ),
        (result('{"confirmed": true}'), "adk_request_confirmation", Decision("approved", "")),
        (result("the blue one"), "adk_request_input", Decision("answered", "the blue one")),
        (result('{"confirmed": true}'), "delete", None),
        (result([{"type": "text", "text": "done"}]), "delete", None),
        (opaque(type="function_approval_response"), "", None),
        (opaque(type="other", approved=True, of="approval_response"), "", None),
        ({"type": "text", "text": "approval_response"}, "", None),
    ],
)
def test_decisions(block: Any, tool: str, expected: Decision | None) -> None:
    """A decision is read as each framework has it."""
    assert expected == decision_in(block, tool)
