"""The examples in docs/editors.md."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def section(heading: str) -> str:
    """Return the text under a heading."""
    text = (ROOT / "docs" / "editors.md").read_text()
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def blocks(heading: str, language: str) -> list[str]:
    """Return the blocks in a language under a heading."""
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```", section(heading), re.DOTALL | re.MULTILINE)
    return found
