"""The daemon's settings: from the command line, else the environment, else ``reeld.toml``, else the defaults."""

import argparse
import os
import sys
from argparse import ArgumentTypeError
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, Self

from reel.base.installation import install_command
from reel.base.light_typing import NamedTuple
from reel.daemon.address import config_file, standard_database, standard_socket
from reel.daemon.database_url import has_password, is_url, printable
from reel.touches.describing import Described, described
from reel.version import PROTOCOL, __version__
from reeld.agents.agent import MAILBOX
from reeld.agents.residency import IDLE, MAX_LIVE, MEMORY
from reeld.backups.schedule import LEAST_HOURS, Schedule
from reeld.memory_budget import lowered, smallest_limit
from reeld.metrics_file import Metrics
from reeld.serving.flow import Limits
from reeld.setting import Ignored, Setting
from reeld.startup import CANNOT_START, USAGE
from reeld.store.connection_thread import SQLITE
from reeld.store.retention import Retention
from reeld.store.schema import DURABILITIES, FULL

_HELP = {
    "connection.requests": "requests in flight on one connection",
    "connection.bytes": "bytes of requests in flight on one connection",
    "connection.all_bytes": "bytes of requests in flight on all connections",
    "connection.unread": "bytes of unread replies on one connection",
    "connection.pushes": "bytes of unread pushes on one connection",
    "connection.all_waiting": "bytes of unread replies, unread pushes and incomplete messages on all connections",
    "connection.subscriptions": "subscriptions on one connection",
    "connection.asides": "open wait, verify, backup and search requests on one connection",
    "connection.stall": "seconds in which a client must read some of what waits for it",
    "connection.message": "bytes of one incoming message",
    "connection.values": "values in one incoming message, nested ones included",
    "connection.max_open": "open connections",
}
# The section of the file that describes tools: each of its tables is one.
_TOOLS = "tools"
_NO_BACKUPS = "the database is on a server, whose own tools make backups of it (pg_dump); leave this setting out"


class Agents(NamedTuple):
    """Limits on live agents: how many, idle seconds before eviction, jobs that may wait for one, and bytes in all."""

    max_live: int = MAX_LIVE
    idle: float = IDLE
    mailbox: int = MAILBOX
    memory: int = MEMORY


class Config(NamedTuple):
    """The value of every setting."""

    socket: str
    database: str
    log_level: str = "info"
    durability: str = FULL
    connection: Limits = Limits()
    agents: Agents = Agents()
    metrics: Metrics = Metrics()
    retention: Retention = Retention()
    backup: Schedule = Schedule()
    # The tools of which it is known what their calls do.
    tools: Described = Described()
    # Why some settings count as not set.
    ignored: tuple[str, ...] = ()
    # Whether to exit at once if `reel stop` stopped the daemon before.
    unless_stopped: bool = False
    # Whether a new database may be on a network file system.
    allow_network_files: bool = False

    @property
    def memory(self) -> dict[str, int]:
        """The settings of which each is a number of bytes in memory."""
        return {
            "agents.memory": self.agents.memory,
            "connection.all_bytes": self.connection.all_bytes,
            "connection.all_waiting": self.connection.all_waiting,
        }

    def absolute(self) -> Self:
        """Return the settings with paths that mean the same in every directory; a symlink stays one."""
        file, backups = self.metrics.file, self.backup.directory
        return self._replace(
            socket=os.path.abspath(self.socket),
            database=self.database if is_url(self.database) else os.path.abspath(self.database),
            metrics=self.metrics._replace(file=file and os.path.abspath(file)),
            backup=self.backup._replace(directory=backups and os.path.abspath(backups)),
        )


class EffectiveSetting(NamedTuple):
    """A setting's value, and where it came from."""

    setting: Setting
    value: Any
    source: str
    # Why it is not what the source says.
    ignored: str | None = None


SETTINGS = [
    Setting("socket", str, "path of the socket"),
    Setting("database", str, "path of the database file, or postgresql:// URL of one on a server", may_be_url=True),
    Setting("durability", str, "what a power cut may lose, nothing or the last moments", choices=DURABILITIES),
    Setting("log_level", str, "lowest level that is logged to stderr", choices=("debug", "info", "warning", "error")),
    *(
        Setting(f"connection.{name}", type(value), _HELP.get(f"connection.{name}", ""))
        for name, value in Limits._field_defaults.items()
    ),
    Setting("agents.max_live", int, "conversations kept in memory"),
    Setting("agents.idle", float, "seconds until an unused conversation leaves memory"),
    Setting("agents.mailbox", int, "requests that may wait for one conversation"),
    Setting("agents.memory", int, "bytes of conversations kept in memory"),
    Setting("metrics.file", str, "file of metrics for node_exporter's textfile collector", suffix=".prom"),
    Setting("metrics.every", float, "seconds between two files of metrics"),
    *(
        Setting(
            f"retention.{key}",
            float,
            f"{what}, for good; at least 1",
            least=1,
            reason="purging cannot be undone; for less, use reel purge",
            was_free=True,
        )
        for key, what in (
            ("killed_days", "days after which a killed conversation is purged"),
            ("days", "days without an event after which any conversation is purged"),
        )
    ),
    Setting(
        "retention.tag", str, "KEY or KEY=VALUE: only conversations with this tag are purged or pruned", is_path=False
    ),
    Setting(
        "retention.history_days",
        float,
        "days after which what nothing reaches any more in a living conversation is pruned, for good; at least 1",
        least=1,
        reason="pruning cannot be undone; for less, use reel prune",
    ),
    Setting("backup.directory", str, "directory in which the daemon makes backups by itself"),
    Setting("backup.keep", int, "backups that are kept there"),
    Setting(
        "backup.hours",
        float,
        f"hours from one backup to the next, at least {LEAST_HOURS}",
        least=LEAST_HOURS,
        reason="each backup is a copy of all, and is checked",
    ),
]


def parse(arguments: Sequence[str] | None = None) -> Config:
    """Read the command line, the environment and the file; exit with a message if one of them is wrong."""
    defaults = _defaults()
    parser = _parser(defaults)
    given = parser.parse_args(arguments)
    try:
        found = _fitted(list(effective_settings(vars(given), os.environ, read_file(config_file()), defaults)))
        tools = read_tools(config_file())
    except ArgumentTypeError as error:
        parser.exit(USAGE, f"reeld: {error}\n")
    config = _config({each.setting.name: each.value for each in found})
    config = config._replace(tools=tools, ignored=tuple(each.ignored for each in found if each.ignored is not None))
    on_server = is_url(config.database)
    if on_server and config.backup.directory is not None:
        parser.exit(USAGE, f"reeld: backup.directory: {_NO_BACKUPS}\n")
    if given.check:
        sys.stdout.write(shown(found))
        parser.exit(_check_server(config.database) if on_server else 0)
    return config._replace(unless_stopped=given.unless_stopped, allow_network_files=given.allow_network_files)


def _check_server(url: str) -> int:
    """Print as comments what a check of a database on a server finds; return the exit status."""
    try:
        from reeld.store.postgres.survey import survey  # noqa: PLC0415 - only who has a server needs psycopg
    except ImportError:
        sys.stdout.write(f"# problem: psycopg is missing; install it with: {install_command('postgres')}\n")
        return CANNOT_START
    found = survey(url)
    for word, sentences in (("server", found.facts), ("warning", found.warnings), ("problem", found.problems)):
        sys.stdout.writelines(f"# {word}: {sentence}\n" for sentence in sentences)
    return CANNOT_START if found.problems else 0


def effective_settings(
    flags: Mapping[str, Any], environment: Mapping[str, str], file: Mapping[str, Any], defaults: Mapping[str, Any]
) -> Iterator[EffectiveSetting]:
    """Return each setting with its value and where it came from.

    Raises:
        ArgumentTypeError: a variable has an invalid value.
    """
    for setting in SETTINGS:
        if flags[setting.name] is not None:
            if setting.may_be_url and has_password(flags[setting.name]):
                raise ArgumentTypeError(
                    f"{setting.flag}: {printable(flags[setting.name])} contains a password, which everybody who"
                    " lists processes can see; put it into ~/.pgpass"
                )
            yield EffectiveSetting(setting, flags[setting.name], setting.flag)
        elif text := environment.get(setting.variable):
            place = f"${setting.variable}"
            yield _found(setting, setting.convert(place, setting.from_text, text), place)
        elif setting.name in file:
            yield _found(setting, file[setting.name], config_file())
        else:
            yield EffectiveSetting(setting, defaults[setting.name], "default")


def _fitted(found: Sequence[EffectiveSetting]) -> list[EffectiveSetting]:
    """Return the settings with defaults for which the system allows enough memory."""
    limit = smallest_limit()
    values = {each.setting.name: each.value for each in found}
    less = lowered(values, {each.setting.name for each in found if each.source == "default"}, limit)
    source = "" if limit is None else f"default, lowered because of {limit.name}"
    return [
        each._replace(value=less[each.setting.name], source=source) if each.setting.name in less else each
        for each in found
    ]


def _found(setting: Setting, value: Any, source: str) -> EffectiveSetting:
    if isinstance(value, Ignored):
        return EffectiveSetting(setting, None, source, value.reason)
    return EffectiveSetting(setting, value, source)


def read_file(path: str) -> dict[str, Any]:
    """Return the settings of a file by their names with sections; a missing file has none.

    Raises:
        ArgumentTypeError: it cannot be read, or it has an unknown setting or an invalid value.
    """
    tables = {name: value for name, value in _tables(path).items() if name != _TOOLS}
    known = {setting.name: setting for setting in SETTINGS}
    settings = dict(_flat(tables))
    for name in settings.keys() - known.keys():
        raise ArgumentTypeError(f"{path}: unknown setting {name}{_nearest(name, known)}")
    return {
        name: known[name].convert(f"{path}: {name}", known[name].from_toml, value) for name, value in settings.items()
    }


def read_tools(path: str) -> Described:
    """Return the tools that a file describes beside the known ones.

    Raises:
        ArgumentTypeError: it cannot be read, or a table of a tool is wrong.
    """
    tables = _tables(path).get(_TOOLS)
    if tables is None:
        return Described()
    from reel.touches.tables import WrongTable  # noqa: PLC0415 - most describe none

    try:
        return described(tables)
    except WrongTable as error:
        raise ArgumentTypeError(f"{path}: {error}") from error


def _tables(path: str) -> dict[str, Any]:
    """Return what a file has; nothing if there is none."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")  # Windows editors begin a file with a BOM
        import tomllib  # noqa: PLC0415 - most have no file

        return tomllib.loads(text)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ArgumentTypeError(f"{path}: {error.strerror}") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise ArgumentTypeError(f"{path}: {error}") from error


def _flat(tables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the settings of all sections as ``section.key``."""
    sections = {setting.section for setting in SETTINGS}
    for name, value in tables.items():
        if name in sections and isinstance(value, dict):
            yield from ((f"{name}.{key}", inner) for key, inner in value.items())
        else:
            yield name, value


def _nearest(name: str, known: Mapping[str, Setting]) -> str:
    """Return a hint that names the setting that was probably meant, even if the section was left out."""
    from difflib import get_close_matches  # noqa: PLC0415 - nearly every name is known

    last = {each.rpartition(".")[2]: each for each in known}
    near = get_close_matches(name, known, 1) or get_close_matches(name.rpartition(".")[2], last, 1)
    return f"; did you mean {last.get(near[0], near[0])}?" if near else ""


def shown(found: Sequence[EffectiveSetting]) -> str:
    """Return the settings as a file that would set them; comments say where each came from."""
    lines = []
    for section, settings in groupby(found, lambda each: each.setting.section):
        lines += [f"\n[{section}]"] if section else []
        lines += [_line_of(each) for each in settings]
    return "\n".join([*lines, ""])


def _line_of(found: EffectiveSetting) -> str:
    key = found.setting.key
    if found.ignored is not None:
        return f"# {found.ignored}"
    return (
        f"# {key} is not set"
        if found.value is None
        else f"{key} = {found.setting.as_toml(found.value)}  # {found.source}"
    )


def shown_default(value: Any) -> str:
    """Return the default of a setting as help and documentation show it."""
    return "not set" if value is None else str(value)


def _defaults() -> dict[str, Any]:
    defaults = _config({"socket": standard_socket(), "database": standard_database()})
    return {
        setting.name: getattr(getattr(defaults, setting.section) if setting.section else defaults, setting.key)
        for setting in SETTINGS
    }


def _config(values: Mapping[str, Any]) -> Config:
    sections: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for name, value in values.items():
        section, _, key = name.rpartition(".")
        sections[section][key] = value
    return Config(
        **sections[""],
        connection=Limits(**sections["connection"]),
        agents=Agents(**sections["agents"]),
        metrics=Metrics(**sections["metrics"]),
        retention=Retention(**sections["retention"]),
        backup=Schedule(**sections["backup"]),
    )


def _parser(defaults: Mapping[str, Any]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="reeld",
        # argparse makes one for each argument, and each would ask for the width of the terminal.
        formatter_class=partial(argparse.HelpFormatter, width=get_terminal_size().columns - 2),
        description="The daemon that owns the conversations of LLM agents. It stays in the foreground.",
        epilog=f"Every setting can also be set by a variable such as $REEL_LOG_LEVEL, or in {config_file()};"
        " flags take precedence over the environment, and the environment over the file."
        " Exit status: 0 stopped as asked, 2 usage, 3 another reeld is running, 4 cannot start with these settings.",
    )
    for setting in SETTINGS:
        parser.add_argument(
            setting.flag,
            dest=setting.name,
            metavar=setting.metavar,
            type=setting.from_text,
            help=f"{setting.help} ({shown_default(defaults[setting.name]).replace('%', '%%')})",
        )
    parser.add_argument("--unless-stopped", action="store_true", help="do not start after reel stop, until reel start")
    parser.add_argument(
        "--allow-network-files", action="store_true", help="make a new database even on a network file system"
    )
    parser.add_argument("--check", action="store_true", help="print every setting and where it came from, then exit")
    version = f"reeld {__version__}, protocol {PROTOCOL}, SQLite {SQLITE}"
    parser.add_argument("--version", action="version", version=version, help="print the versions")
    return parser
