"""Short forms of names: which one is shown, and what it stands for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.reading.short_names import shortest, stands_for

SESSION = "claude-code/6b23c0c6-77b1-4d25-bc34-9ea864913c3b"
BY_TIME = "codex/019a2b3c-77b1-7d25-bc34-9ea864913c3b"


@pytest.mark.parametrize(
    ("expected", "name"),
    [
        ("claude-code/6b23c0c6", SESSION),
        ("codex/64913c3b", BY_TIME),
        ("6b23c0c6", "6b23c0c6-77b1-4d25-bc34-9ea864913c3b"),
        ("claude-code/agent-a7de7a5", f"{SESSION}/agent-a7de7a5"),
        ("claude-code/89abcdef", f"{SESSION}/agent-a0123456789abcdef"),
        ("opencode/9d0e1f2g", "opencode/ses_4f1b2c3d4e5f6a7b8c9d0e1f2g"),
        (f"{SESSION}/agent-7", f"{SESSION}/agent-7"),
        ("team/a-long-name-that-a-person-typed-1", "team/a-long-name-that-a-person-typed-1"),
        ("demo", "demo"),
    ],
)
def test_shortest_form(expected: str, name: str) -> None:
    """A form is the tool and eight digits, the last ones of an id that begins with the time; typed names stay."""
    assert expected == shortest([name], [name])[name]


@pytest.mark.parametrize(
    ("expected", "other"),
    [
        ("claude-code/6b23c0c6", "codex/6b23c0c6-77b1-4d25-bc34-9ea864913c3b"),
        ("claude-code/6b23c0c6", f"{SESSION}/agent-a7de7a5"),
        ("claude-code/64913c3b", f"{SESSION}@2"),
        ("claude-code/64913c3b", "claude-code/6b23c0c6-0000-4000-8000-000000000000"),
        ("claude-code/6b23c0c6-7", "claude-code/6b23c0c6-0000-4000-8000-000864913c3b"),
        ("claude-code/64913c3b", "claude-code/6b23c0c6"),
    ],
)
def test_shortest_form_beside_another_name(expected: str, other: str) -> None:
    """A form stands for one name: it has more digits if another name begins, or ends, with eight of them."""
    assert expected == shortest([SESSION], [SESSION, other])[SESSION]


@pytest.mark.parametrize(
    ("expected", "form"),
    [
        (True, "claude-code/6b23c0c6"),
        (True, "6b23c0c6-77b1"),
        (True, "64913c3b"),
        (True, "claude-code/64913c3b"),
        (False, "claude-code/6b23c0c"),
        (False, "codex/6b23c0c6"),
        (False, "77b1-4d25"),
        (False, ""),
    ],
)
def test_what_a_form_stands_for(expected: bool, form: str) -> None:
    """A form has at least eight digits, of the beginning or the end, with the tool or without."""
    assert expected is stands_for(form, SESSION)


@pytest.mark.parametrize("name", ["old-tape-decks", "team/tape-decks", "tape-decks/one", "tape-decks-2"])
def test_a_name_that_was_typed_has_no_form(name: str) -> None:
    """The end of a name without an id stands for nothing: it may be the name that another one had before."""
    assert not stands_for("tape-decks", name)


_NAMES = st.lists(
    st.builds("".join, st.tuples(st.sampled_from(["a/", "b/"]), st.text("ab", min_size=7, max_size=9))).map(
        lambda name: f"{name}-1111-4222-8333-{name[2:]}ab1234567890"
    ),
    min_size=1,
    max_size=5,
)


@given(_NAMES)
def test_forms_beside_many_names(names: list[str]) -> None:
    """Whatever names there are, the form of each stands for no other one."""
    forms = shortest(names, names)

    assert [] == [
        (name, other)
        for name in names
        for other in names
        if other not in (name, forms[name]) and stands_for(forms[name], other)
    ]
