"""Keys and passwords in what ``reel import`` brings in."""

import json
import tomllib
from pathlib import Path

import pytest

from reel.cli.line.settings_text import with_setting
from reel.sync.client import Client
from tests.reel.cli.conftest import Reel, texts
from tests.reel.cli.running import talking
from tests.reel.importing.transcripts import Transcript

GITHUB = "ghp_aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zA7"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the settings, which are not there yet; the home directory has no histories."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "reel" / "reel.toml"


@pytest.fixture
def session(name: str, tmp_path: Path) -> str:
    """A session of Claude Code with a key in it."""
    made = Transcript(name.lower()).user("u1", f"use {GITHUB}").answer("a1", "No", "m1")
    made.write(tmp_path / ".claude/projects/-home-me" / f"{made.session}.jsonl")
    return f"claude-code/{made.session}"


def save(settings: Path, text: str) -> None:
    """Write the settings."""
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(text)


def test_they_are_named_in_the_report(reel: Reel, settings: Path, session: str) -> None:
    """Without a setting they stay, nothing is asked without a terminal, and the report says how many there are."""
    ran = reel("import", "claude-code")

    assert "  1 secret (github-token 1) stay in them; list them with: reel secrets" in ran.out.splitlines()
    assert [f"use {GITHUB}", "No"] == texts(reel, session)
    assert not settings.exists()


def test_they_are_masked(reel: Reel, settings: Path, session: str, tmp_path: Path) -> None:
    """With ``mask``, marks take their place; the report says so, and a repeated import changes nothing."""
    save(settings, '[import]\nsecrets = "mask"\n')
    ran = reel("import", "claude-code")
    (tmp_path / "reel" / "imported.json").unlink()
    again = reel("import", "claude-code", "--json")

    assert "  1 secret (github-token 1) masked" in ran.out.splitlines()
    assert texts(reel, session)[0].startswith("use [masked:github-token.")
    assert (0, 1) == (again.documents[0]["messages"], again.documents[0]["unchanged"])


def test_they_stay_without_a_word(reel: Reel, settings: Path, session: str) -> None:
    """With ``keep``, nothing is looked for."""
    save(settings, '[import]\nsecrets = "keep"\n')

    assert "secret" not in reel("import", "claude-code").out
    assert [f"use {GITHUB}", "No"] == texts(reel, session)


def test_a_dry_run_counts_them(reel: Reel, settings: Path, session: str) -> None:
    """A dry run says how many there are, and asks nothing."""
    assert "  1 secret (github-token 1)" in reel("import", "claude-code", "--dry-run").out.splitlines()
    assert not settings.exists()
    assert 4 == reel("show", session).status


def test_without_a_key_nothing_is_imported(reel: Reel, settings: Path, session: str, tmp_path: Path) -> None:
    """If there can be no key for the fingerprints, the import is refused before anything changes."""
    save(settings, '[import]\nsecrets = "mask"\n')
    (tmp_path / "reel" / "secrets.key").write_bytes(b"damaged")
    ran = reel("import", "claude-code")

    assert 2 == ran.status
    assert "secrets.key has 7 bytes, not the 32 of a key; remove it" in ran.err
    assert 4 == reel("show", session).status


def test_an_own_log_is_masked(reel: Reel, client: Client, settings: Path, name: str, tmp_path: Path) -> None:
    """A log that was exported comes in without its secrets, and is known again whatever the setting is."""
    client.create(name, title=f"What is {GITHUB}?")
    client.add(name, [{"role": "user", "content": f"use {GITHUB}"}, {"kind": "note", "content": GITHUB}])
    reel("export", name, "--format", "jsonl", "-o", str(tmp_path / "log.jsonl"))
    client.purge(name)
    for mode in ("mask", "mark", "keep"):
        save(settings, f'[import]\nsecrets = "{mode}"\n')
        ran = reel("import", "reel", str(tmp_path / "log.jsonl"), "--json")
        events = json.dumps(list(client.iter_history(name)))

        assert (mode == "mask", 0) == (bool(ran.documents[0]["new"]), ran.documents[0]["grown"])
        assert (True, False) == ("[masked:github-token." in events, GITHUB in events)
    assert (client.agent(name).title or "").startswith("What is [masked:github-token.")


@pytest.mark.slow
def test_a_first_import_asks_once(
    client: Client, settings: Path, session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a terminal, a first import asks; the answer becomes a setting, and is not asked for again."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with talking(client.path, "import", "claude-code", XDG_STATE_HOME=str(tmp_path / "state")) as command:
        command.until("[MARK/mask/keep] ")
        command.type("never\r")
        command.until("[MARK/mask/keep] ")
        command.type("mask\r")
        command.until("masked")
        command.process.wait()
    assert {"import": {"secrets": "mask"}} == tomllib.loads(settings.read_text())
    assert GITHUB not in json.dumps(list(client.iter_history(session)))

    with talking(client.path, "import", "claude-code", XDG_STATE_HOME=str(tmp_path / "state")) as command:
        assert "[MARK" not in command.until("nothing new")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '[import]\nsecrets = "mask"\n'),
        ("hints = false\n", 'hints = false\n\n[import]\nsecrets = "mask"\n'),
        ("[import]  # mine\nx = 1\n[aliases]\n", '[import]  # mine\nsecrets = "mask"\nx = 1\n[aliases]\n'),
        ("[import]", '[import]\nsecrets = "mask"'),
        ("import = { x = 1 }\n", None),
        ('x = """\n[import]\n"""\n', None),
    ],
)
def test_a_setting_is_added(text: str, expected: str | None) -> None:
    """A setting goes into its table, which is made if it is not there, and nothing else changes."""
    assert expected == with_setting(text, "import", "secrets", "mask")
