"""Fixtures with a Vim."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.daemon import Daemon
from tests.editors.vim.driver import Start, Vim


@pytest.fixture
def start_vim(require: Callable[[str], str], environment: dict[str, str], directory: Path) -> Iterator[Start]:
    """Start Vims, which end with the test."""
    program = require("vim")
    with ExitStack() as opened:

        def start(*, plugin: bool = True, **changed: str) -> Vim:
            vim = Vim(program, environment | changed, directory, plugin=plugin)
            opened.callback(vim.close)
            return vim

        yield start


@pytest.fixture
def vim(daemon: Daemon, start_vim: Start) -> Vim:
    """A Vim with the plug-in, and a running daemon."""
    del daemon
    return start_vim()
