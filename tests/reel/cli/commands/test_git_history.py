"""What ``reel blame`` asks git."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from reel.cli.commands.shared import git as running
from reel.cli.commands.shared.git import GitFailed
from reel.cli.commands.shared.git_history import Known, git_history

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
_WHO = {f"GIT_{who}_{what}": "x@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class Repository:
    """A repository with a file.

    Args:
        top: its directory.
    """

    def __init__(self, top: Path) -> None:
        self.top = top
        self.times = 1_700_000_000
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> None:
        """Run git."""
        dates = {f"GIT_{who}_DATE": f"{self.times} +0000" for who in ("AUTHOR", "COMMITTER")}
        environment = {**os.environ, **_WHO, **dates, "GIT_CONFIG_GLOBAL": os.devnull}
        subprocess.run(["git", *arguments], cwd=self.top, env=environment, check=True, capture_output=True)

    def commit(self, text: str | None = None, name: str = "a.py") -> None:
        """Commit a text of the file, ten seconds after the last one."""
        self.times += 10
        if text is not None:
            (self.top / name).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "more")

    def known(self, name: str = "a.py") -> Known:
        """Return what git knows of a file."""
        known = git_history(str(self.top / name))
        assert known is not None
        return known


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository without commits."""
    return Repository(tmp_path)


def test_commits_of_lines(repository: Repository) -> None:
    """Each line has the commit that it came with, whose text and time are known, and so are those of the one before."""
    repository.commit("one\ntwo\n")
    repository.commit("one\nnew\ntwo\n")
    repository.commit("other\n", "b.py")
    known = repository.known()
    history = known.history
    first, second, _ = history.origins

    assert (str(repository.top), ["a.py"]) == (known.top, list(known.names))
    assert (1_700_000_020, "one\nnew\ntwo\n") == (history.newest.time, history.newest.text)
    version = history.versions[second.commit]
    assert (1, 1_700_000_020) == (second.line, version.time)
    assert version.before is not None
    assert (1_700_000_010, "one\ntwo\n") == (version.before.time, version.before.text)
    assert history.versions[first.commit].before is None


def test_a_rename(repository: Repository) -> None:
    """A file has its earlier names, and its lines the commits of them."""
    repository.commit("one line\nand a second one\nand a third one\n")
    repository.git("mv", "a.py", "ü b.py")
    repository.commit("one line\nand a second one\nand another one\n", "ü b.py")
    known = repository.known("ü b.py")

    assert ["ü b.py", "a.py"] == list(known.names)
    version = known.history.versions[known.history.origins[2].commit]
    assert version.before is not None
    assert version.before.text.endswith("and a third one\n")


def test_a_merge_is_not_plain(repository: Repository) -> None:
    """What came with a merge has no text before it that is known."""
    repository.commit("one\n\ntwo\n")
    repository.git("switch", "-qc", "side")
    repository.commit("one\n\ntwo, said the side\n")
    repository.git("switch", "-q", "main")
    repository.commit("one\n\ntwo, said the main one\n")
    repository.git("merge", "-q", "-s", "ours", "--no-commit", "side")
    repository.commit("one\n\ntwo, said both\n")
    history = repository.known().history

    assert [True, True, False] == [origin.commit in history.versions for origin in history.origins]


def test_a_shallow_clone(repository: Repository, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where a shallow clone ends, nobody knows what was before."""
    repository.commit("one\n")
    repository.commit("one\ntwo\n")
    there = tmp_path_factory.mktemp("shallow") / "clone"
    repository.git("clone", "-q", "--depth", "1", f"file://{repository.top}", str(there))
    known = git_history(str(there / "a.py"))

    assert known is not None
    assert {} == known.history.versions


def test_what_git_does_not_know(repository: Repository, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A file outside of a repository, in one without commits, or in no commit has no history."""
    (repository.top / "new.py").write_text("one\n")
    outside = tmp_path_factory.mktemp("outside") / "a.py"
    outside.write_text("one\n")
    nothing = git_history(str(repository.top / "new.py"))
    repository.commit("one\n")
    (repository.top / "newer.py").write_text("one\n")

    assert [None] * 3 == [nothing, git_history(str(outside)), git_history(str(repository.top / "newer.py"))]


def test_it_runs_nothing(repository: Repository) -> None:
    """Neither a monitor nor a filter nor a converter of the repository is run."""
    repository.commit("one\n")
    trace = f"touch {repository.top / 'ran'}; cat"
    for name in ("core.fsmonitor", "filter.x.clean", "filter.x.smudge", "diff.x.textconv", "diff.external"):
        repository.git("config", name, trace)
    (repository.top / ".gitattributes").write_text("*.py filter=x diff=x\n")
    (repository.top / "a.py").write_text("changed\n")

    assert 1 == len(repository.known().history.origins)
    assert not (repository.top / "ran").exists()


def test_it_takes_too_long(repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """git that does not answer in time is given up."""
    repository.commit("one\n")
    never_ends = tmp_path / "git"
    never_ends.write_text("#!/bin/sh\nexec tail -f /dev/null\n")
    never_ends.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(running, "LIMIT", 0)  # shorter, because the test is about the limit

    with pytest.raises(GitFailed, match="git took more than 0 s"):
        repository.known()
