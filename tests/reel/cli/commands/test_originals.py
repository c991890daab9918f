"""``reel originals``: what the tools have deleted can be read again."""

import json
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.forkserver import running_daemon
from tests.reel.cli.conftest import Reel, texts
from tests.reel.importing.programs import PROGRAMS
from tests.reel.importing.transcripts import Transcript


@pytest.fixture
def session(name: str) -> str:
    """The id of a session that no other test uses."""
    return name.lower()[-40:].strip("-")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home directory without histories, whose settings ask for originals."""
    home = tmp_path / "home"
    (home / ".config/reel").mkdir(parents=True)
    (home / ".config/reel/reel.toml").write_text("[import]\noriginals = true\n")
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PWD", str(home))
    return home


def write(home: Path, made: Transcript) -> Path:
    """Write a transcript where the tool would."""
    return made.write(home / ".claude/projects/-home-me" / f"{made.session}.jsonl")


def listed(reel: Reel) -> list[str]:
    """Return the names of the files that have originals."""
    return [Path(document["path"]).name for document in reel("originals", "--json").documents]


def talk(session: str) -> Transcript:
    """Return a session of two messages."""
    return Transcript(session).user("u1", "Hi").answer("a1", "Hello", "m1")


def test_what_the_tool_has_deleted(reel: Reel, session: str, home: Path, tmp_path: Path) -> None:
    """It is written back as it was, with its time, and imported from there into another daemon."""
    file = write(home, talk(session))
    os.utime(file, ns=(5_000_000_000, 5_000_000_000))
    data = file.read_bytes()
    reel("import", "--yes")
    file.unlink()

    ran = reel("originals", "--write", str(tmp_path / "back"))

    back = tmp_path / "back" / str(file)[1:]
    assert (0, f"{back}\n") == (ran.status, ran.out)
    assert (data, 5_000_000_000, 0o600) == (back.read_bytes(), back.stat().st_mtime_ns, back.stat().st_mode & 0o777)
    with running_daemon() as other:
        place = str(tmp_path / "back" / str(home)[1:] / ".claude/projects")
        reel("import", "claude-code", place, "--socket", other.socket)
        assert ["Hi", "Hello"] == texts(reel, f"claude-code/{session}", "--socket", other.socket)


@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_every_kind_of_files(reel: Reel, name: str, home: Path, tmp_path: Path, program: str) -> None:
    """What is read of a database, or of a file, is read of what is written back as well."""
    prefix, write_history = PROGRAMS[program]
    tool = prefix.partition("/")[0]
    place = write_history(home / "its files", name, 2)
    before = reel("import", tool, str(place), "--dry-run", "--json").documents[0]
    reel("import", tool, str(place))
    shutil.rmtree(home / "its files")
    reel("originals", "--write", str(tmp_path / "back"))

    after = reel("import", tool, str(tmp_path / "back" / str(place)[1:]), "--dry-run", "--json").documents[0]
    assert (4 * 2, before["records"]) == (after["messages"], after["records"])


def test_the_list(reel: Reel, session: str, home: Path) -> None:
    """Each file is listed with its tool and size; --json has its hash, and TOOL chooses."""
    file = write(home, talk(session))
    reel("import", "--yes")

    (line,) = reel("originals").out.splitlines()
    (document,) = reel("originals", "--json").documents
    assert line.startswith("claude-code  ")
    assert line.endswith(f"Z  {file}")
    assert (str(file), file.stat().st_size, 64) == (document["path"], document["size"], len(document["hash"]))
    assert "" == reel("originals", "codex").out
    assert 2 == reel("originals", "nonsense").status


def test_output_that_cannot_be_written(reel: Reel, session: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of stdout is not one of the store."""
    write(home, talk(session))
    reel("import", "--yes")

    with suppress(OSError), Path("/dev/full").open("w", buffering=1) as full, monkeypatch.context() as patch:
        patch.setattr("sys.stdout", full)
        ran = reel("originals")

    assert (1, "reel: system: No space left on device\n") == (ran.status, ran.err)


def test_files_that_are_there_stay(reel: Reel, session: str, home: Path) -> None:
    """A file is never replaced; if it has other content, the status says that something was not written."""
    file = write(home, talk(session))
    reel("import", "--yes")
    assert (0, f"{file}\n") == reel("originals", "--write", "/")[:2]
    file.write_text("newer")

    ran = reel("originals", "--write", "/")

    assert (1, "newer") == (ran.status, file.read_text())
    assert f"{file} was not written: there is another file" in ran.err
    assert [file.name] == [path.name for path in file.parent.iterdir()]


def test_an_older_version(reel: Reel, session: str, home: Path, tmp_path: Path) -> None:
    """A version with something that the newest one lacks is written beside it."""
    file = write(home, talk(session))
    reel("import", "--yes")
    write(home, Transcript(session).user("u1", "Hi"))
    reel("import", "--yes")

    reel("originals", "--write", str(tmp_path / "back"))

    written = {path.name for path in (tmp_path / "back" / str(file.parent)[1:]).iterdir()}
    assert {f"{session}.jsonl", f"{session}~1.jsonl"} == written


def test_verify(reel: Reel, session: str, home: Path, tmp_path: Path) -> None:
    """All are read and compared; what is damaged is named, and not written."""
    file = write(home, talk(session))
    reel("import", "--yes")
    assert (0, "1 original, 0 problems\n", "") == reel("originals", "--verify")

    with closing(sqlite3.connect(tmp_path / "reel/originals.db", isolation_level=None)) as database:
        database.execute("update chunks set data = x'00'")
    ran = reel("originals", "--verify")

    assert (1, "1 original, 1 problem\n") == (ran.status, ran.out)
    assert f"{file}: a chunk cannot be decompressed" in ran.err
    assert 1 == reel("originals", "--write", str(tmp_path / "back")).status
    assert [] == [path for path in (tmp_path / "back").rglob("*") if path.is_file()]


def test_a_file_that_is_no_store(reel: Reel, session: str, home: Path, tmp_path: Path) -> None:
    """It is said; the conversation is imported nevertheless, and the status tells of it."""
    write(home, talk(session))
    (tmp_path / "reel").mkdir()
    (tmp_path / "reel/originals.db").write_text("no database" * 1000)

    assert "file is not a database" in reel("originals").err
    assert "file is not a database; originals are not kept" in reel("import", "--yes").err
    assert ["Hi", "Hello"] == texts(reel, f"claude-code/{session}")
    assert "originals are not kept" in reel("status").out
    assert 0 == reel("purge", f"claude-code/{session}", "--yes").status


def test_what_cannot_be_opened(reel: Reel, tmp_path: Path) -> None:
    """It is said which file it is, and why."""
    (tmp_path / "reel/originals.db").mkdir(parents=True)

    ran = reel("originals")

    assert (1, f"reel: {tmp_path}/reel/originals.db: Is a directory\n") == (ran.status, ran.err)


def test_nothing_is_kept_by_default(reel: Reel, session: str, home: Path, tmp_path: Path) -> None:
    """Without the setting there is no store, and the command says how to get one."""
    (home / ".config/reel/reel.toml").unlink()
    write(home, talk(session))
    reel("import", "--yes")

    ran = reel("originals")

    assert 1 == ran.status
    assert "[import], then originals = true" in ran.err
    assert not (tmp_path / "reel/originals.db").exists()


def test_the_setting_is_switched_on_later(reel: Reel, session: str, home: Path) -> None:
    """What was imported before is kept at the next import, which does not read it."""
    settings = (home / ".config/reel/reel.toml").rename(home / "later")
    write(home, talk(session))
    reel("import", "--yes")
    settings.rename(home / ".config/reel/reel.toml")
    reel("import", "--yes")

    assert [f"{session}.jsonl"] == listed(reel)


def test_a_purge(reel: Reel, client: Client, session: str, home: Path, tmp_path: Path) -> None:
    """It erases the original of the conversation, which no import keeps again unless it is restored."""
    file = write(home, talk(session))
    write(home, talk(f"{session}-2"))
    reel("import", "--yes")
    ran = reel("purge", f"claude-code/{session}", "--yes")

    assert "1 original erased" in ran.out.splitlines()
    assert [f"{session}-2.jsonl"] == listed(reel)
    assert str(file) not in json.dumps(json.loads((tmp_path / "reel/purged.json").read_text()))
    reel("import", "--yes")
    assert [f"{session}-2.jsonl"] == listed(reel)
    reel("import", "--yes", "--restore-purged")
    assert {f"{session}.jsonl", f"{session}-2.jsonl"} == set(listed(reel))
    assert 2 == client.agent(f"claude-code/{session}").messages


def test_originals_that_are_erased(reel: Reel, session: str, home: Path, tmp_path: Path) -> None:
    """Those of a file, or of all below a directory, go for good, and are not kept again; conversations stay."""
    file, letters = write(home, talk(session)), home / "letters"
    letters.mkdir()
    for name in ("one.jsonl", "two.jsonl"):
        (letters / name).write_text(f'{{"dear": "{name}"}}\n')  # no conversation
    reel("import", "claude-code")
    reel("import", "claude-code", str(letters))
    assert [file.name, "one.jsonl", "two.jsonl"] == listed(reel)

    missing = reel("originals", "--erase", str(tmp_path / "letters"))
    assert (1, True) == (missing.status, "there is no original of " in missing.err)
    assert 2 == reel("originals", "--verify", "--erase", str(letters)).status
    asked = reel("originals", "--erase", str(letters))
    assert (1, f"{letters}/one.jsonl\n{letters}/two.jsonl\n") == (asked.status, asked.out)
    assert "repeat the command with --yes" in asked.err
    assert 3 == len(listed(reel))

    ran = reel("originals", "--erase", str(letters), "--yes")
    assert (0, f"{letters}/one.jsonl\n{letters}/two.jsonl\n2 originals erased\n") == (ran.status, ran.out)
    with closing(sqlite3.connect(tmp_path / "reel/originals.db")) as database:
        assert [(1, 1)] == database.execute("select (select count(*) from chunks), count(*) from pieces").fetchall()
    assert {"erased": [str(file)]} == reel("originals", "--erase", str(file), "--yes", "--json").documents[0]
    reel("import", "claude-code", str(letters))
    reel("import", "claude-code")

    assert [] == listed(reel)
    assert ["Hi", "Hello"] == texts(reel, f"claude-code/{session}")


def test_a_purge_before_originals_are_kept(reel: Reel, name: str, home: Path) -> None:
    """A database with a conversation that was purged is not kept later, when the settings ask for it."""
    settings = (home / ".config/reel/reel.toml").rename(home / "later")
    tool, write_history = PROGRAMS["llm"]
    place = write_history(home / "its files", name, 1)
    reel("import", tool.rstrip("/"), str(place))
    assert 0 == reel("purge", f"llm/{name}", "--yes").status
    settings.rename(home / ".config/reel/reel.toml")

    reel("import", tool.rstrip("/"), str(place))

    assert [] == listed(reel)


def test_a_purge_by_another_client(reel: Reel, client: Client, name: str, home: Path) -> None:
    """The next import erases the original of a database with it, and keeps it no more; others stay."""
    tool, write_history = PROGRAMS["llm"]
    place = write_history(home / "its files", name, 1)
    write(home, talk(f"{name}-2"))
    reel("import", "--yes")
    reel("import", tool.rstrip("/"), str(place))
    assert 2 == len(listed(reel))

    client.purge(f"llm/{name}")
    for _ in range(2):
        reel("import", tool.rstrip("/"), str(place))
        reel("import", "--yes")
        assert [f"{name}-2.jsonl"] == listed(reel)


def test_a_redaction(reel: Reel, session: str, home: Path) -> None:
    """What is erased in a conversation is not left in its original."""
    write(home, talk(session))
    write(home, Transcript(f"{session}-2").user("u2", "Hello as well"))
    reel("import", "--yes")
    reel("redact", f"claude-code/{session}", "--text", "nothing of this", "--yes")
    assert 2 == len(listed(reel))

    ran = reel("redact", f"claude-code/{session}", "--text", "Hello", "--yes")

    assert "1 original erased" in ran.out.splitlines()
    reel("import", "--yes")
    assert [f"{session}-2.jsonl"] == listed(reel)


@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_redaction_by_another_client(
    reel: Reel, client: Client, session: str, home: Path, *, goes_on: bool, is_deleted: bool
) -> None:
    """The next import erases the original, whether there is more to import or not, and keeps it no more."""
    made = Transcript(session).user("u1", "Hello")
    path = write(home, made)
    quoting = Transcript(f"{session}-2").user("u2", "It says [redacted 2026-11-30 04:00 UTC by me].")
    write(home, quoting)
    reel("import", "--yes")
    client.mark(f"claude-code/{session}-2")
    client.redact(f"claude-code/{session}", text="Hello")
    if is_deleted:
        path.unlink()
    if goes_on:
        write(home, made.answer("a1", "Hello to you", "m1"))
        write(home, quoting.answer("a2", "So it does.", "m2"))

    for _ in range(2):
        reel("import", "--yes")
        assert [f"{session}-2.jsonl"] == listed(reel)


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_redaction_where_a_conversation_was_before(
    reel: Reel, client: Client, session: str, home: Path, *, goes_on: bool
) -> None:
    """It counts as well after somebody has changed the conversation, so that its import goes on beside it."""
    made = Transcript(session).user("u1", "Hello")
    write(home, made)
    reel("import", "--yes")
    client.add(f"claude-code/{session}", "A person's word")
    write(home, made.answer("a1", "Hello to you", "m1"))
    reel("import", "--yes")
    assert ["Hello", "Hello to you"] == texts(reel, f"claude-code/{session}@2")
    client.redact(f"claude-code/{session}", text="Hello")
    if goes_on:
        write(home, made.user("u2", "Thanks"))

    for _ in range(2):
        reel("import", "--yes")
        assert [] == listed(reel)


def test_secrets_are_erased(reel: Reel, session: str, home: Path) -> None:
    """`reel secrets --redact` erases the originals that have one; other originals stay."""
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with running_daemon() as own:
        where = ("--socket", own.socket)
        write(home, Transcript(session).user("u1", f"my token is {key}"))
        write(home, talk(f"{session}-2"))
        reel("import", "--yes", *where)
        assert 1 == len(reel("secrets", "--json", *where).documents)

        ran = reel("secrets", "--redact", "--yes", *where)

        assert f"{session}.jsonl: its original was erased, and will not be kept again" in ran.out
        reel("import", "--yes", *where)
        assert [f"{session}-2.jsonl"] == listed(reel)


@pytest.mark.parametrize(
    ("text", "problem"), [("originals = 1", "originals: write true or false"), ("x = 1", "x: there")]
)
def test_a_wrong_setting(reel: Reel, home: Path, text: str, problem: str) -> None:
    """It is refused, with what may be there."""
    (home / ".config/reel/reel.toml").write_text(f"[import]\n{text}\n")

    assert problem in reel("list").err
