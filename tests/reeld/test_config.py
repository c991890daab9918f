"""Flags override the environment, that overrides the file, and that overrides the defaults."""

import tomllib
from pathlib import Path

import pytest

from reel.daemon.address import config_file
from reel.touches.tools import KNOWN
from reel.version import PROTOCOL, __version__
from reeld import memory_budget
from reeld.config import SETTINGS, Agents, Config, parse
from reeld.serving.flow import Limits
from reeld.store.connection_thread import SQLITE


@pytest.fixture(autouse=True)
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Set both paths in the environment, without a file."""
    for setting in SETTINGS:
        monkeypatch.delenv(setting.variable, raising=False)
    monkeypatch.setattr(memory_budget, "_PROC", str(tmp_path / "cgroup"))  # the machine may have a limit of memory
    monkeypatch.setattr(memory_budget, "_MOUNT", str(tmp_path / "fs"))
    monkeypatch.setenv("REEL_SOCKET", "/e/s.sock")
    monkeypatch.setenv("REEL_DATABASE", "/e/r.db")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "reel").mkdir()
    return tmp_path / "reel" / "reeld.toml"


def ended(arguments: list[str]) -> int:
    """Return the status with which reading the command line ends the program."""
    with pytest.raises(SystemExit) as ended:
        parse(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], Config("/e/s.sock", "/e/r.db", "info", durability="full")),
        (["--socket", "/f/s.sock"], Config("/f/s.sock", "/e/r.db", "info")),
        (["--database=/f/r.db", "--log-level", "debug"], Config("/e/s.sock", "/f/r.db", "debug")),
        (["--durability", "normal"], Config("/e/s.sock", "/e/r.db", durability="normal")),
        (["--agents-idle=2.5"], Config("/e/s.sock", "/e/r.db", agents=Agents(idle=2.5))),
        (["--connection-all-bytes", "9"], Config("/e/s.sock", "/e/r.db", connection=Limits(all_bytes=9))),
    ],
)
def test_flags_before_environment(arguments: list[str], expected: Config) -> None:
    """A setting without a flag is taken from the environment."""
    assert expected == parse(arguments)


def test_environment_before_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting that is not in the environment, or is empty there, is taken from the file."""
    file.write_text('socket = "/t/s.sock"\nlog_level = "error"\n[connection]\nrequests = 7\nstall = 3\n')
    monkeypatch.setenv("REEL_LOG_LEVEL", "")
    monkeypatch.setenv("REEL_CONNECTION_REQUESTS", "8")

    assert Config("/e/s.sock", "/e/r.db", "error", connection=Limits(requests=8, stall=3.0)) == parse([])


def test_home_in_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon expands a tilde in the file, because no shell reads it."""
    monkeypatch.delenv("REEL_DATABASE")
    monkeypatch.setenv("HOME", "/h")
    file.write_text('database = "~/reel.db"')

    assert "/h/reel.db" == parse([]).database


def test_a_file_with_a_byte_order_mark(file: Path) -> None:
    """Windows editors begin a file with one, which is not part of the first key."""
    file.write_bytes(b'\xef\xbb\xbflog_level = "debug"\n')

    assert "debug" == parse([]).log_level


def test_tools_in_the_file(file: Path) -> None:
    """The file may describe tools, which are no settings."""
    file.write_text("[tools.save_page]\nwrote = 'target'\nafter = 'body'\n")
    config = parse([])

    assert {"save_page"} == config.tools.tools.keys() - KNOWN.keys()
    assert Config(config.socket, config.database, tools=config.tools) == config


def test_defaults_of_the_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any setting, the paths are in the user's directories."""
    monkeypatch.delenv("REEL_SOCKET")
    monkeypatch.delenv("REEL_DATABASE")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")

    assert Config("/run/user/7/reel/reel.sock", "/state/reel/reel.db") == parse([])


def test_where_the_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without XDG variables the standard directories are used."""
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", "/h")

    assert "/h/.config/reel/reeld.toml" == config_file()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("sockt = 1", "unknown setting sockt; did you mean socket?"),
        ("[tools.save]\nwrote = 'a'", "tools.save: after is missing, the argument with the text that is written"),
        ("tools = 1", "tools: expected a table for each tool, such as [tools.save]"),
        ("requests = 1", "unknown setting requests; did you mean connection.requests?"),
        ("[agents]\nmaxlive = 1", "unknown setting agents.maxlive; did you mean agents.max_live?"),
        ("zzz = 1", "unknown setting zzz"),
        ("agents = 1", "unknown setting agents; did you mean agents.idle?"),
        ("socket = 1", "socket: 1 is not a string"),
        ('socket = "s.sock"', "socket: 's.sock' is not an absolute path"),
        ('log_level = "loud"', "log_level: 'loud' is not one of debug, info, warning, error"),
        ("[connection]\nrequests = 1.5", "connection.requests: 1.5 is not a whole number"),
        ("[connection]\nrequests = true", "connection.requests: True is not a whole number"),
        ("[connection]\nstall = nan", "connection.stall: nan is not a positive, finite number"),
        ("[agents]\nmax_live = 0", "agents.max_live: 0 is not a positive, finite number"),
        ("[backup]\nhours = 0.2", "backup.hours: 0.2 is less than 0.25: each backup is a copy of all, and is checked"),
        ('[metrics]\nfile = "/m/reeld.txt"', "metrics.file: '/m/reeld.txt' does not end in .prom"),
        ("socket", "Expected '=' after a key in a key/value pair (at end of document)"),
    ],
)
def test_file_that_is_wrong(text: str, sentence: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error of an invalid file names the place and the accepted values."""
    file.write_text(text)

    assert 2 == ended([])
    assert f"reeld: {file}: {sentence}\n" == capsys.readouterr().err


def test_file_that_cannot_be_read(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that cannot be read is an error."""
    file.mkdir()

    assert 2 == ended(["--check"])
    assert f"reeld: {file}: Is a directory\n" == capsys.readouterr().err


def test_variable_that_is_wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """An error in a variable names the variable."""
    monkeypatch.setenv("REEL_AGENTS_MAX_LIVE", "many")

    assert 2 == ended([])
    assert "reeld: $REEL_AGENTS_MAX_LIVE: 'many' is not a whole number\n" == capsys.readouterr().err


def test_backups_all_the_time(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Backups may not follow each other too closely, wherever that is set, and the check of the settings says so."""
    monkeypatch.setenv("REEL_BACKUP_HOURS", "0.01")

    assert (2, 2) == (ended(["--check"]), ended(["--backup-hours", "0.24"]))
    said = capsys.readouterr().err
    assert "reeld: $REEL_BACKUP_HOURS: 0.01 is less than 0.25" in said
    assert "argument --backup-hours: 0.24 is less than 0.25" in said
    assert 0.25 == parse(["--backup-hours", "0.25"]).backup.hours


def test_history_that_would_be_pruned_too_soon(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Less than a day is refused wherever it is set; it is off unless it is set, and purges no agent."""
    assert 2 == ended(["--retention-history-days", "0.5"])
    file.write_text("[retention]\nhistory_days = 0.5\n")
    assert 2 == ended([])
    file.write_text("[retention]\nhistory_days = 30\n")
    rules = parse([]).retention

    assert 2 == capsys.readouterr().err.count("0.5 is less than 1: pruning cannot be undone; for less, use reel prune")
    assert (30.0, False) == (rules.history_days, rules.is_on)
    file.write_text("")
    assert parse([]).retention.history_days is None


@pytest.mark.parametrize("name", ["days", "killed_days"])
def test_agents_that_would_be_purged_too_soon(
    name: str, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Less than a day is refused on the command line; where older versions accepted it, it counts as not set."""
    flag = f"--retention-{name.replace('_', '-')}"
    assert 2 == ended([flag, "0.99"])
    assert f"argument {flag}: 0.99 is less than 1: purging cannot be undone" in capsys.readouterr().err
    assert 1.0 == getattr(parse([flag, "1"]).retention, name)
    file.write_text(f"[retention]\n{name} = 0.3\ntag = 'keep'\n")
    in_file = parse([])
    monkeypatch.setenv(f"REEL_RETENTION_{name.upper()}", "0.5")
    in_environment = parse([])
    assert 0 == ended(["--check"])

    reason = "is less than 1: purging cannot be undone; for less, use reel purge; it counts as not set"
    assert (f"{file}: retention.{name}: 0.3 {reason}",) == in_file.ignored
    assert (f"$REEL_RETENTION_{name.upper()}: 0.5 {reason}",) == in_environment.ignored
    assert [False, False] == [config.retention.is_on for config in (in_file, in_environment)]
    assert f"# $REEL_RETENTION_{name.upper()}: 0.5 {reason}\n" in capsys.readouterr().out
    assert 7.0 == getattr(parse([flag, "7"]).retention, name)


def test_check_prints_the_effective_settings(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The effective settings are printed with their origin, as a file that has the same effect."""
    file.write_text("[agents]\nidle = 5\n")
    status = ended(["--check", "--log-level", "debug"])
    said = capsys.readouterr().out

    assert 0 == status
    assert {
        'socket = "/e/s.sock"  # $REEL_SOCKET',
        'log_level = "debug"  # --log-level',
        "requests = 256  # default",
        f"idle = 5.0  # {file}",
    } <= set(said.splitlines())
    assert {"max_live": 1000, "idle": 5.0, "mailbox": 8192, "memory": 256 << 20} == tomllib.loads(said)["agents"]
    assert Limits()._asdict() == tomllib.loads(said)["connection"]


def test_what_was_printed_can_be_the_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file made of the printed settings configures the same daemon."""
    before = parse(["--agents-idle", "7"])
    ended(["--check", "--agents-idle", "7"])
    file.write_text(capsys.readouterr().out)

    assert before == parse([])


@pytest.mark.parametrize(
    "arguments", [["--nonsense"], ["extra"], ["--log-level", "loud"], ["--socket"], ["--agents-idle=-1"]]
)
def test_an_invalid_command_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """An invalid command line ends with a status of its own, and prints the usage."""
    assert 2 == ended(arguments)
    assert capsys.readouterr().err.startswith("usage: reeld ")


def test_help_has_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    """Every setting is explained, including each limit."""
    assert 0 == ended(["--help"])
    said = capsys.readouterr().out

    assert [] == [setting.flag for setting in SETTINGS if not setting.help or setting.flag not in said]


def test_version_of_reeld(capsys: pytest.CaptureFixture[str]) -> None:
    """The versions of the distribution, the protocol and SQLite are printed."""
    assert 0 == ended(["--version"])
    assert f"reeld {__version__}, protocol {PROTOCOL}, SQLite {SQLITE}\n" == capsys.readouterr().out


def test_a_machine_with_little_memory(tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Defaults are lowered until their sum fits into the limit of the cgroup; what is set stays as it is."""
    (tmp_path / "cgroup").write_text("0::/\n")
    limit = tmp_path / "fs" / "memory.max"
    limit.parent.mkdir()
    limit.write_text(f"{512 << 20}\n")
    file.write_text("[agents]\nmemory = 50000000\n")
    config = parse([])
    assert 0 == ended(["--check"])

    assert 50_000_000 == config.agents.memory
    assert memory_budget.most(config.memory) <= 512 << 20
    assert 16 << 20 < config.connection.all_bytes == config.connection.all_waiting < 256 << 20
    shown = f"all_bytes = {config.connection.all_bytes}  # default, lowered because of {limit}\n"
    assert shown in capsys.readouterr().out
