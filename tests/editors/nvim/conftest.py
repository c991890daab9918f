"""Fixtures with a Neovim: Debian's, which is old, and the newest."""

import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from reel.sync.client import Client
from tests.editors.nvim.driver import Nvim, newest
from tests.editors.surroundings import Require

Launch = Callable[..., Nvim]

VERSIONS = ("installed", "newest")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test in one of both; in both, a minute longer, with ``make editors``."""
    if "program" in metafunc.fixturenames:
        one = VERSIONS[zlib.crc32(metafunc.function.__name__.encode()) % len(VERSIONS)]
        versions = VERSIONS if "REEL_EVERY_NVIM" in os.environ else [one]
        metafunc.parametrize("program", versions, indirect=True, scope="session")


@pytest.fixture(scope="session")
def program(request: pytest.FixtureRequest, require: Require) -> str:
    """The path of a Neovim."""
    return require("nvim" if request.param == "installed" else newest() or "the newest nvim")


@pytest.fixture
def launch(program: str, environment: dict[str, str]) -> Iterator[Launch]:
    """Start a Neovim that ends with the test."""
    with ExitStack() as running:
        yield lambda **kwargs: running.enter_context(Nvim(program, environment | kwargs.pop("more", {}), **kwargs))


@pytest.fixture
def nvim(launch: Launch, client: Client) -> Nvim:  # noqa: ARG001 - for the daemon to be there first
    """A Neovim with the plug-in, and a daemon."""
    return launch()


@pytest.fixture
def demo(nvim: Nvim, client: Client) -> Nvim:
    """A Neovim with an empty conversation open."""
    client.create("demo")
    nvim.command("Reel open demo")
    nvim.until("vim.fn.bufname() == 'reel://demo'")
    return nvim
