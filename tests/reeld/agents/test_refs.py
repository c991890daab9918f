"""References: what an agent's past has under one already is not added again."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reel.base.errors import Conflict, InvalidParams
from tests.reeld.agents.conftest import Open
from tests.reeld.agents.direct_client import DirectClient
from tests.thoroughness import SHARED


def said(ref: str, text: str = "hi") -> dict[str, Any]:
    """Return a message with a reference."""
    return {"role": "user", "content": text, "ref": ref}


async def test_a_known_message_is_left_out(client: DirectClient) -> None:
    """The rest of the command is carried out, and the reply lists what was known, also after an undo."""
    await client.add("a", said("x", "one"), create=True)
    await client.undo("a")
    reply = await client.add("a", said("y", "two"), said("x"), "three")

    assert ([{"index": 1, "seq": 2}], 4, 5) == (reply["known"], reply["first"], reply["head"])
    assert ["two", "three"] == await client.texts("a")


async def test_nothing_is_written_if_all_are_known(client: DirectClient) -> None:
    """The reply has no command then, and no seq of a first message."""
    await client.add("a", said("x"), create=True)
    reply = await client.add("a", said("x"))

    assert {"agent": reply["agent"], "head": 2, "first": 0, "orphans": [], "open_calls": []} == {
        name: value for name, value in reply.items() if name != "known"
    }
    assert ["hi"] == await client.texts("a")


async def test_a_repeated_command_is_not_one_of_known_messages(client: DirectClient) -> None:
    """Under its key a command gets its first reply, although all of its messages are known by now."""
    await client.add("a", "first", create=True)
    first = await client.add("a", said("x"), said("y"), key="k")

    assert {**first, "repeated": True} == await client.add("a", said("x"), said("y"), key="k")
    with pytest.raises(Conflict):
        await client.add("a", said("x"), key="k")


async def test_a_clone_knows_what_it_inherited(client: DirectClient) -> None:
    """What the source said up to the clone is known to it, and nothing that either said later."""
    await client.add("a", said("x"), create=True)
    await client.clone("a", "b")
    await client.add("a", said("y"))
    reply = await client.add("b", said("x"), said("y"), said("z"))

    assert [{"index": 0, "seq": 2}] == reply["known"]
    assert "known" not in await client.add("a", said("z"))


async def test_known_messages_are_left_out_of_a_replacement(client: DirectClient) -> None:
    """What is replaced remains known: it is in the log."""
    await client.add("a", said("x", "one"), said("y", "two"), create=True)
    reply = await client.replace("a", 3, said("y"), said("z", "three"))

    assert ([{"index": 0, "seq": 3}], 1) == (reply["known"], reply["dropped"])
    assert ["one", "three"] == await client.texts("a")
    with pytest.raises(InvalidParams):
        await client.replace("a", 3, said("w"))


_WHAT = st.sampled_from(["add", "add", "add", "undo", "clone"])
_COMMANDS = st.lists(
    st.tuples(st.integers(0, 2), _WHAT, st.sets(st.sampled_from("uvwxyz"))),
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=30, suppress_health_check=SHARED)
@given(commands=_COMMANDS)
async def test_each_reference_is_once_in_a_past(opened: Open, commands: list[tuple[int, str, set[str]]]) -> None:
    """Whatever is added, undone and cloned: what is known is what was said in the agent's past."""
    async with opened() as client:
        pasts = {(await client.create())["name"]: set[str]()}
        for number, what, refs in commands:
            name = list(pasts)[number % len(pasts)]
            if what == "clone":
                pasts[(await client.clone(name))["name"]] = set(pasts[name])
            elif what == "undo":
                await client.add(name, "something")
                await client.undo(name)
            elif refs:
                reply = await client.add(name, *map(said, sorted(refs)))
                known = {sorted(refs)[each["index"]] for each in reply.get("known", [])}

                assert known == refs & pasts[name]
                pasts[name] |= refs
