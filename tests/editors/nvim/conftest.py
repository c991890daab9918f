"""Fixtures with a Neovim: Debian's, which is old, and the newest."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from reel.sync.client import Client
from tests.editors.nvim.driver import Nvim, newest
from tests.editors.surroundings import Require

Launch = Callable[..., Nvim]


@pytest.fixture(scope="session", params=["installed", "newest"])
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
