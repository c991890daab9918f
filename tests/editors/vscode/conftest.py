"""Fixtures with the extension for VS Code.

The extension is loaded into Node with the part of VS Code that it calls (client/editors/vscode/drive): the editor
itself is not here.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors.surroundings import Require
from tests.editors.vscode.driver import VSCode, build


@pytest.fixture(scope="session")
def built(require: Require) -> Path:
    """The package, installed and compiled."""
    return build(require)


@pytest.fixture
def editor(built: Path, environment: dict[str, str]) -> Iterator[VSCode]:
    """The active extension; at its end nothing keeps the process alive."""
    editor = VSCode(built, environment)
    yield editor
    assert 0 == editor.close()
