"""The versions of frameworks that the project names are the same everywhere."""

import re
from pathlib import Path

import pytest

from reel.integrations.frameworks import FRAMEWORKS
from tests.adapters.versions import bounds

_PAGE = (Path(__file__).parent.parent / "docs" / "frameworks.md").read_text()


@pytest.mark.parametrize("extra", FRAMEWORKS)
def test_bounds(extra: str) -> None:
    """An extra allows the oldest version that was tested, and all newer ones of its major."""
    framework = FRAMEWORKS[extra]

    oldest, excluded = bounds()[extra][framework.package]

    assert framework.oldest == oldest
    assert int(framework.newest.split(".")[0]) + 1 == int(excluded)


@pytest.mark.parametrize("extra", FRAMEWORKS)
def test_what_the_page_says(extra: str) -> None:
    """The page's table has the versions that were tested."""
    framework = FRAMEWORKS[extra]
    (row,) = re.findall(rf"^\| \[.*\| `{extra}` \|.*$", _PAGE, re.MULTILINE)

    assert framework.tested == row.split("|")[4].strip()
