"""Tags are changed one by one, though the daemon takes them as a whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.cli.agents import changed_tags, way_back
from reel.cli.moving import seq
from reel.cli.words import UsageError

tags = st.dictionaries(st.sampled_from(["a", "b-", "c"]), st.sampled_from(["", "1", "=x"]))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (["b=2"], {"a": "1", "b": "2"}),
        (["a=2"], {"a": "2"}),
        (["a="], {"a": ""}),
        (["a=x=y"], {"a": "x=y"}),
        (["a-"], {}),
        (["z-"], {"a": "1"}),
        (["b-=2", "b--"], {"a": "1"}),
    ],
)
def test_changes(changes: list[str], expected: dict[str, str]) -> None:
    """K=V sets, K- removes, the first = parts."""
    assert expected == changed_tags({"a": "1"}, changes)


@pytest.mark.parametrize("change", ["a", "=v", "-", ""])
def test_what_is_no_tag_is_refused(change: str) -> None:
    """The error says what a tag looks like, and how an agent is named."""
    with pytest.raises(UsageError, match="is no tag: K=V sets one, K- removes it; an agent is named with -a"):
        changed_tags({}, [change])


@given(tags, tags)
def test_way_back_undoes(before: dict[str, str], after: dict[str, str]) -> None:
    """The hint that is printed restores what was."""
    assert before == changed_tags(after, way_back(before, after))


def test_seq_is_a_number() -> None:
    """A position that is none says where to find one."""
    assert seq("17") == 17
    for word in ("x", "", "9" * 20):
        with pytest.raises(UsageError, match=f"'{word}' is no seq"):
            seq(word)
