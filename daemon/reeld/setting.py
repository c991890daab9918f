"""One of the daemon's settings: its names, and how its value is read and checked."""

import json
import math
import os
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.daemon.database_url import is_url, printable

_TYPES = {str: "a string", int: "a whole number", float: "a number"}


class _TooSmallError(ArgumentTypeError):
    """A number is too small that older versions accepted."""


class Ignored(NamedTuple):
    """A value that counts as not set, and why."""

    reason: str


class Setting(NamedTuple):
    """A setting; ``name`` is ``section.key``, or the key alone.

    Its methods raise :class:`ArgumentTypeError` for an invalid value, which argparse turns into a usage error.
    """

    name: str
    kind: type
    help: str
    choices: tuple[str, ...] = ()
    # What a path must end in.
    suffix: str = ""
    # Whether a text is a path, or may be the URL of a database in place of one.
    is_path: bool = True
    may_be_url: bool = False
    # The smallest number, if that is not any above zero, and why.
    least: float | None = None
    reason: str = ""
    # Whether a smaller number counts as not set, unless it is on the command line: older versions accepted it.
    was_free: bool = False

    @property
    def section(self) -> str:
        """Its table in the file; empty if it has none."""
        return self.name.rpartition(".")[0]

    @property
    def key(self) -> str:
        """Its name in its table."""
        return self.name.rpartition(".")[2]

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return "--" + self.name.replace(".", "-").replace("_", "-")

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return "REEL_" + self.name.replace(".", "_").upper()

    @property
    def metavar(self) -> str:
        """The name of its value in help."""
        if self.choices:
            return f"{{{','.join(self.choices)}}}"
        return "N" if self.kind is not str else "PATH" if self.is_path else "TEXT"

    def from_text(self, text: str) -> Any:
        """Convert a value from the command line or the environment."""
        try:
            value = self.kind(text)
        except ValueError as error:
            raise ArgumentTypeError(f"{text!r} is not {_TYPES[self.kind]}") from error
        return self._validate(value)

    def from_toml(self, value: Any) -> Any:
        """Check a value from the file. A path in it must be absolute, because the file is read from any directory."""
        if self.kind is float and type(value) is int:
            value = float(value)
        if type(value) is not self.kind:
            raise ArgumentTypeError(f"{value!r} is not {_TYPES[self.kind]}")
        if self.kind is str and self.is_path and not self.choices and not (self.may_be_url and is_url(str(value))):
            value = os.path.expanduser(str(value))
            if not value.startswith("/"):
                raise ArgumentTypeError(f"{value!r} is not an absolute path")
        return self._validate(value)

    def _validate(self, value: Any) -> Any:
        if self.choices and value not in self.choices:
            raise ArgumentTypeError(f"{value!r} is not one of {', '.join(self.choices)}")
        if self.kind is not str and not 0 < value < math.inf:
            raise ArgumentTypeError(f"{value} is not a positive, finite number")
        if self.least is not None and value < self.least:
            kind = _TooSmallError if self.was_free else ArgumentTypeError
            raise kind(f"{value} is less than {self.least}: {self.reason}")
        if self.kind is str and not value.endswith(self.suffix):
            raise ArgumentTypeError(f"{value!r} does not end in {self.suffix}")
        if value == "":
            raise ArgumentTypeError("the value is empty")
        return value

    def convert(self, place: str, convert: Callable[[Any], Any], value: Any) -> Any:
        """Convert a value, or return why it is :class:`Ignored`; an error says where it came from."""
        try:
            return convert(value)
        except _TooSmallError as error:
            return Ignored(f"{place}: {error}; it counts as not set")
        except ArgumentTypeError as error:
            raise ArgumentTypeError(f"{place}: {error}") from error

    def as_toml(self, value: Any) -> str:
        """Return a value as it is written in the file, without a password."""
        return json.dumps(printable(value) if self.may_be_url else value, ensure_ascii=False)
