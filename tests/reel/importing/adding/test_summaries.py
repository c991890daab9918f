"""What stays beside a summary: its copies, and how the file of a fork has them."""

from types import SimpleNamespace
from typing import Any

from reel.importing.adding.places import Places
from reel.importing.adding.summaries import Summary
from reel.importing.steps import Compacted, Step
from tests.reel.importing.adding.test_conversation import answer, commands, existing, said


def test_copies() -> None:
    """They have ids of their own, which name the summary; a message is as old as it was."""
    summary, content = Summary("s", 7), [{"type": "text", "text": "Hi"}]
    prompt = summary.prompt(said("p1", "p2", role="system"))
    message: Any = {"role": "user", "content": content, "provider_metadata": {"a": 1}, "time": 5}
    copies = [summary.copy("u1", message), summary.copy("u1", {**message, "sent": 4})]

    assert ["p1", "p2@s"] == [part.ref for part in prompt.parts]
    assert [("user", (("u1@s", content),), {"a": 1}, sent, 7) for sent in (5, 4)] == copies


def test_a_fork_of_what_was_summed_up() -> None:
    """Its file has the messages that were kept after the summary only; the log may have copies of them there."""
    kept: list[Step] = [Compacted(said("s")), said("u1"), said("u2")]

    assert ["add u1 over 3", "add u2 over 4"] == commands(*kept, target=existing("u1", "s"))
    assert ["add u2 over 4"] == commands(*kept, target=existing("u1", "s", "u1@s"))


def test_a_fork_that_grows_of_what_was_summed_up() -> None:
    """An answer that was kept is whole in the log of its origin, or was copied in part before."""
    kept: list[Step] = [Compacted(said("s")), answer("a1", "a2"), said("u2")]

    assert ["add a1 over 3", "add u2 over 4"] == commands(*kept, target=existing("a2", "s"))
    assert ["add a1 over 4 from 4", "add u2 over 6"] == commands(*kept, target=existing("a2", "s", "a1@s"))


def test_a_fork_without_its_summary() -> None:
    """If that was refused, nothing was kept beside it."""
    log, message = existing("u1").log, said("u1")
    writer: Any = SimpleNamespace(log=log)

    assert message is Summary("s", 1).in_fork(message, log, Places(writer), lambda _: [])
