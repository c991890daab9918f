"""The frameworks that an adapter is for, the versions that it was tested with, and what is said if it does not fit."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Final

from reel.base.installation import install_command, needs
from reel.base.light_typing import NamedTuple


class Framework(NamedTuple):
    """A framework.

    Args:
        module: the module that a program imports.
        package: the package that brings it.
        oldest: the oldest version that the adapter's tests pass with.
        newest: the newest one.
        python: the oldest version of Python that it runs on, if our own is older.
    """

    module: str
    package: str
    oldest: str
    newest: str
    python: tuple[int, int] = (3, 11)

    @property
    def tested(self) -> str:
        """The versions that the adapter was tested with, in words."""
        return self.oldest if self.oldest == self.newest else f"{self.oldest} to {self.newest}"


# By their extras, which the folders of the adapters are named after. `make adapters` runs the tests with both versions.
FRAMEWORKS: Final = {
    "openai-agents": Framework("agents", "openai-agents", "0.22", "0.24"),
    "claude-agent-sdk": Framework("claude_agent_sdk", "claude-agent-sdk", "0.2.187", "0.2.189"),
    "agent-framework": Framework("agent_framework", "agent-framework-core", "1.20", "1.23"),
    "pydantic-ai": Framework("pydantic_ai", "pydantic-ai-slim", "2.66", "2.68"),
    "langgraph": Framework("langgraph", "langgraph", "1.1", "1.2"),
    "google-adk": Framework("google.adk", "google-adk", "2.10", "2.13"),
    "strands-agents": Framework("strands", "strands-agents", "1.0", "1.62"),
    "openhands-sdk": Framework("openhands.sdk", "openhands-sdk", "1.58", "1.58", python=(3, 12)),
}


@contextmanager
def imported(extra: str) -> Iterator[None]:
    """Raise, for an import that fails in this block, an error with the installed version and those that were tested.

    Args:
        extra: the extra that brings the framework.

    Raises:
        ImportError: something in the block could not be imported.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(_problem(extra, error)) from error


def _problem(extra: str, error: ImportError) -> str:
    module, framework = f"reel.integrations.{extra.replace('-', '_')}", FRAMEWORKS[extra]
    if sys.version_info < framework.python:  # the extra is empty
        needed, here = (".".join(map(str, each)) for each in (framework.python, sys.version_info[:2]))
        return f"{module} needs {framework.package}, which needs Python {needed} or newer; this is Python {here}"
    if not _is_there(framework.module):
        return needs(module, framework.package, extra)
    found = _version(framework.module, framework.package)
    return (
        f"{module} cannot be imported with {framework.package} {found}: {error}; "
        f"it was tested with {framework.tested}; install such a version with: {install_command(extra)}"
    )


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):  # the package around it is missing, or it was made by hand
        return sys.modules.get(name) is not None


def _version(name: str, package: str) -> str:
    """Return the version that was found: the module's own word, for it need not be the one that was installed."""
    told = getattr(sys.modules.get(name), "__version__", None)
    if isinstance(told, str):
        return told
    try:
        return version(package)
    except PackageNotFoundError:
        return "of an unknown version"
