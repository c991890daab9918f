"""The shortest forms of the names in a list, and the agents for which a form stands."""

import pytest
from msgpack import unpackb

from reel.daemon.database_url import is_url
from reel.wire.msgpack_codec import packer
from reeld.protocol.params import Agents
from reeld.store.connection import Texts
from reeld.store.listing import Listing, agents
from reeld.store.short_names import ALIKE
from tests.reeld.store.rows import Rows

SESSION = "claude-code/6b23c0c6-77b1-4d25-bc34-9ea864913c3b"
BY_TIME = "codex/019a2b3c-77b1-7d25-bc34-9ea864913c3b"
NAMES = [
    SESSION,
    f"{SESSION}/agent-a7de7a5",
    "claude-code/6b23c0c6-77b2-4d25-bc34-000000000000",
    BY_TIME,
    "codex/019a2b3c-77b2-7d25-bc34-aaa864913c3b",
    "demo",
]


@pytest.fixture
def named(rows: Rows) -> Rows:
    """A database with agents of these names, the second session killed."""
    for row, name in enumerate(NAMES, 1):
        rows.agent(row, name, killed=5 if row == 3 else None)
    return rows


def test_short_names_of_a_list(named: Rows) -> None:
    """A list has the shortest form that stands for no other agent, on that page or not, killed ones included."""
    page = agents(named.connection, Listing(Agents(alive=True, limit=9), drafts={}), packer())

    assert [
        "claude-code/64913c3b",
        "claude-code/agent-a7de7a5",
        "codex/ea864913c3b",
        "codex/aa864913c3b",
        "demo",
    ] == [unpackb(agent)["short"] for agent in page.items]


@pytest.mark.parametrize(
    ("expected", "form"),
    [
        ([SESSION, NAMES[2]], "6b23c0c6"),
        ([SESSION, NAMES[2]], "claude-code/6b23c0c6"),
        ([SESSION], "6b23c0c6-77b1"),
        ([SESSION, BY_TIME, NAMES[4]], "64913c3b"),
        ([BY_TIME], "codex/ea864913c3b"),
        ([NAMES[1]], "agent-a7de7a5"),
        ([], "codex/6b23c0c6"),
        ([], "6b23c0c"),
        ([], "demo"),
        ([], "%"),
    ],
)
def test_agents_of_a_form(named: Rows, expected: list[str], form: str) -> None:
    """A list has the agents for whose names a form stands; sub-agents are not meant by that of their conversation."""
    page = agents(named.connection, Listing(Agents(limit=9, short=form)), packer())

    assert expected == [unpackb(agent)["name"] for agent in page.items]


def test_agents_with_these_ids(named: Rows) -> None:
    """A list has only the agents whose ids are asked for, with their short forms; other ids are skipped."""
    listed = agents(named.connection, Listing(Agents(limit=9)), packer()).items
    ids = [unpackb(agent)["id"] for agent in listed if unpackb(agent)["name"] in {SESSION, "demo"}]
    page = agents(named.connection, Listing(Agents(limit=9, details=True, ids=[*ids, "none"]), drafts={}), packer())

    assert ["claude-code/64913c3b", "demo"] == [unpackb(agent)["short"] for agent in page.items]
    assert [] == agents(named.connection, Listing(Agents(ids=[])), packer()).items


def test_plan_of_a_server(named: Rows, path: str) -> None:
    """Each name is looked up in a hash of the ends, and not compared with every one of them."""
    if not is_url(path):
        return
    plan = named.connection.execute(f"EXPLAIN {ALIKE}", {"ends": Texts(["6b23c0c6"] * 400)})

    assert "hashed SubPlan" in "\n".join(line for (line,) in plan)
