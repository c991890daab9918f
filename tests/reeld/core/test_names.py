"""Names of agents."""

import pytest

from reeld.core.validation import why_not_a_name
from tests.reeld.store.making import profile


@pytest.mark.parametrize("name", ["a", "7", "a.b_c/d@e-f", "a" * 128, "a" * 31])
def test_names_that_are_accepted(name: str) -> None:
    """Letters, digits and some signs make a name."""
    assert why_not_a_name(name) is None


@pytest.mark.parametrize("name", ["", ".a", "a b", "a" * 129, "ä", "a\n", "0" * 32])
def test_names_that_are_refused(name: str) -> None:
    """Other characters, and texts that could be an id, are refused."""
    assert why_not_a_name(name)


def test_how_an_agent_is_found() -> None:
    """An agent is found by its id, and as long as it is alive by its name."""
    agent = profile(7)

    assert (agent.uid, "agent-7") == agent.addresses
    assert (agent.uid,) == agent._replace(killed=1).addresses
