"""What a daemon is told: flags before environment before ``reeld.toml`` before defaults."""

import argparse
import os
import sys
import tomllib
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from reel.address import config_home, default_database, default_socket
from reel.version import PROTOCOL, __version__
from reeld.agents.agent import MAILBOX
from reeld.agents.registry import IDLE, MAX_LIVE
from reeld.errors import USAGE
from reeld.serving.flow import Limits
from reeld.settings import Setting
from reeld.store.database import SQLITE
from reeld.store.schema import DURABILITIES, FULL

_HELP = {
    "connection.requests": "requests in flight on one connection",
    "connection.bytes": "bytes of requests in flight on one connection",
    "connection.all_bytes": "bytes of requests in flight on all connections",
    "connection.unread": "bytes of unread replies on one connection",
    "connection.pushes": "bytes of unread pushes on one connection",
    "connection.all_waiting": "bytes of unread replies, unread pushes and incomplete messages on all connections",
    "connection.subscriptions": "subscriptions on one connection",
    "connection.asides": "open wait, verify and backup requests on one connection",
    "connection.stall": "seconds in which a client must read some of what waits for it",
    "connection.message": "bytes of one incoming message",
    "connection.values": "values in one incoming message, nested ones included",
    "connection.max_open": "open connections",
}


class Agents(NamedTuple):
    """How many agents may be live, how long one stays so that nobody uses, in seconds, and what may wait for one."""

    max_live: int = MAX_LIVE
    idle: float = IDLE
    mailbox: int = MAILBOX


class Config(NamedTuple):
    """Where the daemon listens, where it keeps what was said, how much it says about it, and its limits."""

    socket: str
    database: str
    log_level: str = "info"
    durability: str = FULL
    connection: Limits = Limits()
    agents: Agents = Agents()


class InForce(NamedTuple):
    """A setting's value, and where it came from."""

    setting: Setting
    value: Any
    source: str


SETTINGS = [
    Setting("socket", str, "path of the socket"),
    Setting("database", str, "path of the database file"),
    Setting("durability", str, "what a power cut may lose, nothing or the last moments", choices=DURABILITIES),
    Setting("log_level", str, "lowest level that is logged to stderr", choices=("debug", "info", "warning", "error")),
    *(
        Setting(f"connection.{name}", type(value), _HELP.get(f"connection.{name}", ""))
        for name, value in Limits._field_defaults.items()
    ),
    Setting("agents.max_live", int, "agents kept in memory"),
    Setting("agents.idle", float, "seconds until an unused agent leaves memory"),
    Setting("agents.mailbox", int, "requests that may wait for one agent"),
]


def parse(arguments: Sequence[str] | None = None) -> Config:
    """Read the command line, the environment and the file; end with a sentence where one of them is wrong."""
    defaults = _defaults()
    parser = _parser(defaults)
    given = parser.parse_args(arguments)
    try:
        found = list(in_force(vars(given), os.environ, read_file(config_file()), defaults))
    except ArgumentTypeError as error:
        parser.exit(USAGE, f"reeld: {error}\n")
    if given.check:
        sys.stdout.write(shown(found))
        parser.exit()
    return _config({each.setting.name: each.value for each in found})


def in_force(
    flags: Mapping[str, Any], environment: Mapping[str, str], file: Mapping[str, Any], defaults: Mapping[str, Any]
) -> Iterator[InForce]:
    """Choose for each setting the value that counts.

    Raises:
        ArgumentTypeError: a variable has a value that cannot be.
    """
    for setting in SETTINGS:
        if flags[setting.name] is not None:
            yield InForce(setting, flags[setting.name], setting.flag)
        elif text := environment.get(setting.variable):
            yield InForce(setting, setting.of(f"${setting.variable}", setting.parsed, text), f"${setting.variable}")
        elif setting.name in file:
            yield InForce(setting, file[setting.name], config_file())
        else:
            yield InForce(setting, defaults[setting.name], "default")


def config_file() -> str:
    """Give the path of the file, which need not be there."""
    return f"{config_home()}/reel/reeld.toml"


def read_file(path: str) -> dict[str, Any]:
    """Read the settings of a file by their names, sections included; a file that is not there has none.

    Raises:
        ArgumentTypeError: it cannot be read, or something in it is no setting or has a value that cannot be.
    """
    try:
        tables = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ArgumentTypeError(f"{path}: {error.strerror}") from error
    except ValueError as error:  # no TOML, or no UTF-8
        raise ArgumentTypeError(f"{path}: {error}") from error
    known = {setting.name: setting for setting in SETTINGS}
    settings = dict(_flat(tables))
    for name in settings.keys() - known.keys():
        raise ArgumentTypeError(f"{path}: there is no setting {name}{_nearest(name, known)}")
    return {name: known[name].of(f"{path}: {name}", known[name].checked, value) for name, value in settings.items()}


def _flat(tables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Name what stands in a section by both names."""
    sections = {setting.section for setting in SETTINGS}
    for name, value in tables.items():
        if name in sections and isinstance(value, dict):
            yield from ((f"{name}.{key}", inner) for key, inner in value.items())
        else:
            yield name, value


def _nearest(name: str, known: Mapping[str, Setting]) -> str:
    """Give the setting that was probably meant, also where it is right but for its section."""
    last = {each.rpartition(".")[2]: each for each in known}
    near = get_close_matches(name, known, 1) or get_close_matches(name.rpartition(".")[2], last, 1)
    return f"; did you mean {last.get(near[0], near[0])}?" if near else ""


def shown(found: Sequence[InForce]) -> str:
    """Write settings as a file that would set them, with where each came from."""
    lines = []
    for section, settings in groupby(found, lambda each: each.setting.section):
        lines += [f"\n[{section}]"] if section else []
        lines += [f"{each.setting.key} = {each.setting.as_toml(each.value)}  # {each.source}" for each in settings]
    return "\n".join([*lines, ""])


def _defaults() -> dict[str, Any]:
    defaults = _config({"socket": default_socket(), "database": default_database()})
    return {
        setting.name: getattr(getattr(defaults, setting.section) if setting.section else defaults, setting.key)
        for setting in SETTINGS
    }


def _config(values: Mapping[str, Any]) -> Config:
    sections: dict[str, dict[str, Any]] = {"": {}, "connection": {}, "agents": {}}
    for name, value in values.items():
        section, _, key = name.rpartition(".")
        sections[section][key] = value
    return Config(**sections[""], connection=Limits(**sections["connection"]), agents=Agents(**sections["agents"]))


def _parser(defaults: Mapping[str, Any]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="reeld",
        description="The daemon that owns the conversations of LLM agents. It stays in the foreground.",
        epilog=f"Every setting has a variable as well ($REEL_LOG_LEVEL) and a line in {config_file()}; flags go first,"
        " then the environment, then the file."
        " Exit status: 0 stopped as asked, 2 usage, 3 another reeld runs, 4 it cannot start as told.",
    )
    for setting in SETTINGS:
        parser.add_argument(
            setting.flag,
            dest=setting.name,
            metavar=setting.metavar,
            type=setting.parsed,
            help=f"{setting.help} ({str(defaults[setting.name]).replace('%', '%%')})",
        )
    parser.add_argument("--check", action="store_true", help="print what is in force and where it came from")
    version = f"reeld {__version__}, protocol {PROTOCOL}, SQLite {SQLITE}"
    parser.add_argument("--version", action="version", version=version, help="print the versions")
    return parser
