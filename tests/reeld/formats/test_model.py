"""The neutral form of a history."""

import pytest

from reel.providers.roles import split_by_role
from reeld.formats.model import CallResult, Piece, ToolCall, placeholder
from tests.reeld.formats.histories import call, result, text, thinking

CALL = ToolCall("c1", "look", "c1", "look", 1, {})


@pytest.mark.parametrize(
    ("role", "expected"), [("user", None), ("system", "system"), ("developer", "developer"), (1, None)]
)
def test_system_and_developer_are_privileged_roles(role: object, expected: str | None) -> None:
    """Any other role in the metadata of a message is not."""
    assert expected == Piece({"provider_metadata": {"role": role}}, 0, 0, {}).privileged_role


def test_a_placeholder_comes_from_no_message() -> None:
    """It has no seq and no metadata."""
    assert (None, {}, None) == (placeholder().seq, placeholder().metadata, placeholder().privileged_role)


def test_a_text_result_has_a_text_block() -> None:
    """A list of blocks is returned as it is."""
    assert [text("done")] == CallResult(CALL, "done", failed=False, piece=None).blocks
    assert [text("a"), text("b")] == CallResult(CALL, [text("a"), text("b")], failed=False, piece=None).blocks


def test_blocks_of_one_message_are_split_by_role() -> None:
    """Results are the tool's, calls and thinking the assistant's, all others belong to the role of the message."""
    runs = split_by_role([text("a"), call(), thinking(), result(), text("b")], "user")

    assert [("user", 1), ("assistant", 2), ("tool", 1), ("user", 1)] == [(role, len(run)) for role, run in runs]


def test_a_message_without_blocks_is_an_empty_text() -> None:
    """A message needs a block."""
    assert [("assistant", [text("")])] == list(split_by_role([], "assistant"))
