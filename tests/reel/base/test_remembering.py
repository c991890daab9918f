"""What functions remember of texts is little, and gone after an erasure."""

import re

from reel.base import remembering


def test_what_is_remembered() -> None:
    """A short text is looked at once, until all is forgotten; a long one each time."""
    seen: list[int] = []

    @remembering.remembering(2)
    def measured(text: str) -> int:
        seen.append(len(text))
        return len(text)

    long = "x" * (remembering._LONGEST + 1)
    assert [1, 1, len(long), len(long)] == [measured("a"), measured("a"), measured(long), measured(long)]
    remembering.forget()
    assert 1 == measured("a")

    assert [1, len(long), len(long), 1] == seen


def test_patterns_are_forgotten() -> None:
    """A pattern that was made of a text that is being removed is not kept by Python."""
    re.compile("a secret that is redacted")
    remembering.forget()

    assert not any("a secret" in str(key) for key in re._cache)  # type: ignore[attr-defined]
