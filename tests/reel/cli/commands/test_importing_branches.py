"""``reel import`` of a source whose current branch changes."""

from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.reel.cli.conftest import Reel, texts
from tests.reel.importing.exported import Tree, write
from tests.reel.importing.rollouts import Lines
from tests.reel.importing.tools.test_llm import message, saved


@pytest.fixture
def tree(name: str) -> Tree:
    """A conversation of ChatGPT with two answers, the second of which is current."""
    made = Tree(name.lower()[-40:].strip("-")).said("u1", "user", "Hi").said("a1", "assistant", "One")
    return made.said("u2", "user", "Go on").said("a2", "assistant", "Two", after="u1")


def agent_of(tree: Tree) -> str:
    """Return the agent that a conversation becomes."""
    return f"chatgpt/{tree.conversation}"


def test_another_branch_is_current(reel: Reel, client: Client, tree: Tree, tmp_path: Path) -> None:
    """An export in which another branch is current moves the conversation there, once."""
    agent = agent_of(tree)
    path, ends = tmp_path / "conversations.json", []
    for current in ("a2", "u2", "u2"):
        reel("import", "chatgpt", str(write(path, tree.exported(current_node=current))))
        ends.append((texts(reel, agent), client.agent(agent).head))

    assert ["Hi", "Two"] == ends[0][0]
    assert ["Hi", "One", "Go on"] == ends[1][0]
    assert ends[1] == ends[2]


def test_an_older_export_moves_nothing(reel: Reel, tree: Tree, tmp_path: Path) -> None:
    """An export without the newest message says nothing of where the conversation is now."""
    older = write(tmp_path / "older.json", tree.exported(current_node="u2"))
    reel("import", "chatgpt", str(write(tmp_path / "1.json", tree.said("u3", "user", "New").exported())))
    reel("import", "chatgpt", str(older))

    assert ["Hi", "Two", "New"] == texts(reel, agent_of(tree))


def test_a_changed_conversation_is_not_moved(reel: Reel, client: Client, tree: Tree, tmp_path: Path) -> None:
    """A conversation that was changed here stays where it is."""
    agent = agent_of(tree)
    reel("import", "chatgpt", str(write(tmp_path / "1.json", tree.exported())))
    client.add(agent, "Mine")
    reel("import", "chatgpt", str(write(tmp_path / "2.json", tree.exported(current_node="u2"))))

    assert ["Hi", "Two", "Mine"] == texts(reel, agent)


def test_a_step_back_at_the_end(reel: Reel, name: str, tmp_path: Path) -> None:
    """A turn that was rolled back last is not in the conversation."""
    session = name.lower()[-40:].strip("-")
    made = Lines(session).said("user", "One").said("assistant", "1").said("user", "Two").said("assistant", "2")
    path = made.event("thread_rolled_back", num_turns=1).write(tmp_path / f"rollout-x-{session}.jsonl")

    reel("import", "codex", str(path))

    assert ["One", "1"] == texts(reel, f"codex/{session}")


def test_forks_in_one_database(reel: Reel, client: Client, name: str, tmp_path: Path) -> None:
    """A forked thread is a clone of the other one with a title of its own; what both begin with is stored once."""
    mother, child = f"m-{name.lower()[-30:]}", f"c-{name.lower()[-30:]}"
    messages = [message("u", None, "user", "Hi"), message("a", "u", "assistant", "One"), message("v", "a", "user", "2")]
    messages.append(message("w", "a", "user", "Else"))
    threads = [
        {"id": child, "name": "Child", "tip_message_hash": "w", "forked_from": mother},
        {"id": mother, "name": "Mother", "tip_message_hash": "v"},
    ]
    rows = {"messages": [row for row, _ in messages], "parts": [part for _, parts in messages for part in parts]}
    path = saved(tmp_path / "logs.db", threads=threads, **rows)
    heads = []
    for _ in range(2):
        reel("import", "llm", str(path))
        (tmp_path / "reel/imported.json").unlink(missing_ok=True)
        heads.append(client.agent(f"llm/{child}").head)

    assert (["Hi", "One", "2"], ["Hi", "One", "Else"]) == (texts(reel, f"llm/{mother}"), texts(reel, f"llm/{child}"))
    info = client.agent(f"llm/{child}")
    assert ("Child", True) == (info.title, info.source is not None)
    assert ["Else"] == [event["content"] for event in client.iter_history(f"llm/{child}") if event["kind"] == "user"]
    assert heads[0] == heads[1]
