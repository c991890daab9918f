"""Agents are created, cloned, killed, revived and renamed; tags are changed one by one."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.cli.commands.tag import changed_tags, reverting_changes
from reel.cli.line.arguments import UsageError
from tests.reel.cli.conftest import Reel, texts

from .test_processes import on_terminal

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
def test_tag_changes(changes: list[str], expected: dict[str, str]) -> None:
    """K=V sets a tag, K- removes it, and the first = separates."""
    assert expected == changed_tags({"a": "1"}, changes)


@pytest.mark.parametrize("change", ["a", "=v", "-", ""])
def test_invalid_tag_is_refused(change: str) -> None:
    """The error shows how to write a tag, and how to name an agent."""
    with pytest.raises(UsageError, match="is not a tag; K=V sets one and K- removes one"):
        changed_tags({}, [change])


@pytest.mark.slow
@given(tags, tags)
def test_reverting_changes_restore_the_tags(before: dict[str, str], after: dict[str, str]) -> None:
    """The changes in the hint restore the previous tags."""
    assert before == changed_tags(after, reverting_changes(before, after))


def test_new_prints_the_name(reel: Reel, name: str) -> None:
    """stdout has only the name, so that a script can store it."""
    tags = ("--tag", "a=b", "--tag", "c=d", "--tag", "cwd-", "--tag", "branch-")
    assert (0, f"{name}\n", "") == reel("new", name, "--title", "Tapes", *tags)

    info = reel("info", name, "--json").documents[0]
    assert ("Tapes", {"a": "b", "c": "d"}, None) == (info["title"], info["tags"], info["system"])


@pytest.mark.parametrize(
    ("head", "branch"),
    [("ref: refs/heads/topic/a\n", {"branch": "topic/a"}), ("0123abcd\n", {}), ("\xff", {}), (None, {})],
)
def test_new_tags_the_place(
    reel: Reel, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, head: str | None, branch: dict[str, str]
) -> None:
    """The tags have the directory and the branch that is checked out above it, unless the user says otherwise."""
    git = tmp_path / ".git"
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    if head is not None:
        git.mkdir()
        (git / "HEAD").write_text(head, encoding="latin-1")
    reel("new", name)
    reel("new", f"{name}-2", "--tag", "cwd=/elsewhere")

    assert {"cwd": str(tmp_path / "src"), **branch} == reel("info", name, "--json").documents[0]["tags"]
    assert {"cwd": "/elsewhere", **branch} == reel("info", f"{name}-2", "--json").documents[0]["tags"]


def test_new_in_a_worktree(reel: Reel, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a worktree, `.git` is a file that names the directory with the branch."""
    place = tmp_path / "main" / ".git" / "worktrees" / "other"
    place.mkdir(parents=True)
    (place / "HEAD").write_text("ref: refs/heads/other\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".git").write_text(f"gitdir: {place}\n")
    monkeypatch.chdir(tmp_path / "other")
    reel("new", name)

    assert "other" == reel("info", name, "--json").documents[0]["tags"]["branch"]


def test_new_without_a_name_chooses_one(reel: Reel) -> None:
    """A short name is chosen, and can be used."""
    made = reel("new").out.strip()

    assert 0 == reel("add", made, "hi").status


def test_new_refuses_a_name_that_is_taken(reel: Reel, talk: str) -> None:
    """A live agent keeps its name."""
    refused = reel("new", talk)

    assert (1, "") == (refused.status, refused.out)
    assert refused.err.startswith(f"reel: exists: conversation {talk} exists already; ")


def test_clone_into_a_new_or_an_existing_agent(reel: Reel, talk: str) -> None:
    """A clone is independent; with --into it replaces another agent's conversation."""
    assert (0, f"{talk}-2\n", "") == reel("clone", talk, f"{talk}-2", "--at", "3")
    assert ["What is a tape deck?"] == texts(reel, f"{talk}-2")
    assert (0, f"{talk}-2\n", "") == reel("clone", talk, "--into", f"{talk}-2")
    assert 2 == len(texts(reel, f"{talk}-2"))
    assert 2 == reel("clone", talk, "name", "--into", f"{talk}-2").status


def test_kill_and_revive(reel: Reel, talk: str) -> None:
    """A killed agent can be read and revived, but not added to."""
    assert f"{talk} killed\n" == reel("kill", talk, "--reason", "done").out
    assert f"{talk} was already killed\n" == reel("kill", talk).out
    refused = reel("add", talk, "hi")
    assert 1 == refused.status
    assert refused.err.endswith(f"; revive it with: reel revive {talk}\n")
    assert 2 == len(texts(reel, talk))
    assert f"{talk} revived\n" == reel("revive", talk).out
    assert f"{talk} is not killed\n" == reel("revive", talk).out


def test_archive_and_unarchive(reel: Reel, talk: str) -> None:
    """Who thinks of a shelf reads of one."""
    assert f"{talk} archived\n" == reel("archive", talk).out
    assert f"{talk} was already archived\n" == reel("archive", talk).out
    assert f"{talk} unarchived\n" == reel("unarchive", talk).out
    assert f"{talk} is not archived\n" == reel("unarchive", talk).out


def test_kill_cascade_names_the_clones(reel: Reel, talk: str) -> None:
    """The killed clones are listed by their names."""
    reel("clone", talk, f"{talk}-2")
    reel("clone", f"{talk}-2", f"{talk}-3")

    assert f"{talk} killed, and its clones {talk}-2, {talk}-3\n" == reel("kill", talk, "--cascade").out


def test_revive_cascade_revives_the_clones(reel: Reel, talk: str) -> None:
    """Killed clones are revived, also those of a clone that is alive; one whose name is taken stays killed."""
    for source, clone in ((talk, "a"), (f"{talk}-a", "b"), (f"{talk}-a", "c")):
        reel("clone", source, f"{talk}-{clone}")
    reel("kill", talk, "--cascade")
    reel("revive", f"{talk}-a")
    reel("new", f"{talk}-c")
    ran = reel("revive", talk, "--cascade")

    assert f"{talk} revived, and its clones {talk}-b\n" == ran.out
    assert f"reel: {talk}-c stays killed: another conversation has its name; see: reel list --all\n" == ran.err
    assert f"{talk} is not killed\n" == reel("revive", talk, "--cascade").out


def test_revive_an_agent_whose_name_is_taken(reel: Reel, talk: str) -> None:
    """The agent that has the name now is alive; the other one is found by its id."""
    killed = reel("kill", talk, "--json").documents[0]["agent"]
    reel("new", talk)

    revive_it = f"reel rename {talk} NEW; reel revive {killed}"
    expected = f"reel: note: a killed conversation had this name, too; revive it with: {revive_it}\n"
    assert (0, f"{talk} is not killed\n", expected) == reel("revive", talk)


def test_clone_into_on_a_terminal(reel: Reel, talk: str) -> None:
    """A person reads what became of the other agent."""
    reel("new", f"{talk}-2")
    shown = on_terminal("clone", talk, "--into", f"{talk}-2", "--at", "3")

    assert f"{talk}-2 is now a copy of {talk} at #3\n" in shown


def test_log_has_the_names_of_agents(reel: Reel, talk: str) -> None:
    """An event that refers to another agent shows its name."""
    reel("clone", talk, f"{talk}-2")

    assert reel("log", f"{talk}-2").out.endswith(f"clone         from {talk} at #4\n")


def test_the_old_name_is_free_after_a_rename(reel: Reel, talk: str) -> None:
    """The new name is found, and the old one is free."""
    assert f"{talk} renamed to new-{talk}\n" == reel("rename", talk, f"new-{talk}").out
    assert 4 == reel("show", talk).status
    assert 2 == len(texts(reel, f"new-{talk}"))


def test_title(reel: Reel, talk: str) -> None:
    """A title is set, and an empty one removes it."""
    assert f"{talk}: Of tapes\n" == reel("title", talk, "Of tapes").out
    assert "Of tapes" == reel("info", talk, "--json").documents[0]["title"]
    assert f"{talk}: no title\n" == reel("title", talk, "").out
    assert reel("info", talk, "--json").documents[0]["title"] is None
    assert 2 == reel("title", talk).status


def test_tag_sets_and_removes(reel: Reel, talk: str) -> None:
    """Tags are changed one by one."""
    assert f"{talk}: a=1 b=2\n" == reel("tag", talk, "a=1", "b=2").out
    assert f"{talk}: b=3\n" == reel("tag", talk, "a-", "b=3").out
    assert f"{talk}: no tags\n" == reel("tag", talk, "b-").out
    assert 5 == reel("tag", talk, "b=1", "--if-seq", "1").status
