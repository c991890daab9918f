"""A setting: what it is called on the command line, in the environment and in the file, and what it may be."""

import json
import math
import os
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any, NamedTuple

_TYPES = {str: "a string", int: "a whole number", float: "a number"}


class Setting(NamedTuple):
    """One setting; ``name`` is ``section.key``, or the key alone.

    Where a value cannot be, its methods raise :class:`ArgumentTypeError`, which argparse makes a usage error.
    """

    name: str
    kind: type
    help: str
    choices: tuple[str, ...] = ()

    @property
    def section(self) -> str:
        """Its table in the file; empty where it stands in none."""
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
        """What help calls its value."""
        return f"{{{','.join(self.choices)}}}" if self.choices else "PATH" if self.kind is str else "N"

    def parsed(self, text: str) -> Any:
        """Read a value that was given as text."""
        try:
            value = self.kind(text)
        except ValueError as error:
            raise ArgumentTypeError(f"{text!r} is not {_TYPES[self.kind]}") from error
        return self._possible(value)

    def checked(self, value: Any) -> Any:
        """Check a value that a file gave; a path in it begins at the root or at home, for it may be read anywhere."""
        if self.kind is float and type(value) is int:
            value = float(value)
        if type(value) is not self.kind:
            raise ArgumentTypeError(f"{value!r} is not {_TYPES[self.kind]}")
        if self.kind is str and not self.choices:
            value = os.path.expanduser(str(value))  # noqa: PTH111 - a Path would drop a slash at the end
            if not value.startswith("/"):
                raise ArgumentTypeError(f"{value!r} is not an absolute path")
        return self._possible(value)

    def _possible(self, value: Any) -> Any:
        if self.choices and value not in self.choices:
            raise ArgumentTypeError(f"{value!r} is not one of {', '.join(self.choices)}")
        if self.kind is not str and not 0 < value < math.inf:
            raise ArgumentTypeError(f"{value} is not more than nothing, and finite")
        if value == "":
            raise ArgumentTypeError("it is empty")
        return value

    def of(self, place: str, read: Callable[[Any], Any], value: Any) -> Any:
        """Read a value, and say where it stood if it cannot be."""
        try:
            return read(value)
        except ArgumentTypeError as error:
            raise ArgumentTypeError(f"{place}: {error}") from error

    def as_toml(self, value: Any) -> str:
        """Write a value as a file would."""
        return json.dumps(value, ensure_ascii=False)
