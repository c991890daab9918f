"""The list of kinds is closed, and an allow-list decides what may reach a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.said.kinds import ADDABLE, CONVERSATION, INERT, KNOWN, LEGACY, ROLES, STATE, is_conversation_kind

CONVERSATION_WORDS = ["system", "user", "assistant", "tool_call", "tool_result", "tool"]
STATE_WORDS = [
    "created",
    "changed",
    "clear",
    "mark",
    "rewind",
    "clone",
    "restore",
    "agent_killed",
    "revived",
    "redacted",
    "lost",
]
INERT_WORDS = ["usage", "note", "interrupted", "command", "state", "fork"]


@pytest.mark.parametrize("kind", CONVERSATION_WORDS)
def test_a_conversation_kind_is_one(kind: str) -> None:
    """Messages of users, models and tools are part of a conversation."""
    assert is_conversation_kind(kind)


@pytest.mark.parametrize("kind", [*STATE_WORDS, *INERT_WORDS])
def test_metadata_is_no_conversation_kind(kind: str) -> None:
    """State and inert events are never part of a conversation."""
    assert not is_conversation_kind(kind)


@pytest.mark.parametrize(
    "kind", [None, "", "User", "user ", "USER", "users", "developer", "\x00user", b"user", 0, True, ["user"], {}]
)
def test_anything_else_is_no_conversation_kind(kind: object) -> None:
    """An unknown kind, no kind, and a value that is not a string are refused."""
    assert not is_conversation_kind(kind)


@given(st.text().filter(lambda text: text not in CONVERSATION_WORDS))
def test_an_unknown_kind_is_never_let_through(kind: str) -> None:
    """A kind is part of a conversation only if the list names it."""
    assert not is_conversation_kind(kind)


@pytest.mark.parametrize(
    ("words", "kinds"), [(CONVERSATION_WORDS, CONVERSATION), (STATE_WORDS, STATE), (INERT_WORDS, INERT)]
)
def test_the_three_sets_are_the_closed_list(words: list[str], kinds: frozenset[str]) -> None:
    """Each kind belongs to exactly one of the three sets."""
    assert sorted(words) == sorted(kinds)


def test_the_known_kinds_are_all_three_sets() -> None:
    """A kind is known if one of the three sets has it, and no two sets share one."""
    expected = sorted([*CONVERSATION_WORDS, *STATE_WORDS, *INERT_WORDS])

    assert expected == sorted(KNOWN)


def test_legacy_kinds_cannot_be_added() -> None:
    """A client may add conversation and inert kinds, except the legacy ones."""
    expected = {
        *("system", "user", "assistant", "tool_call", "tool_result"),
        *("usage", "note", "interrupted", "command", "state"),
    }

    assert expected == ADDABLE
    assert {"tool", "fork"} == LEGACY


def test_each_kind_with_a_message_has_its_role() -> None:
    """A prompt is not a message; every other conversation kind has one role."""
    expected = {
        "user": "user",
        "assistant": "assistant",
        "tool_call": "assistant",
        "tool_result": "tool",
        "tool": "tool",
    }

    assert expected == ROLES
