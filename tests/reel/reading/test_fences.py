"""Code between fences."""

import pytest

from reel.reading.fences import code_blocks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```\na\n```", [("a", "")]),
        ("  ~~~~ sh x\na\n~~~\nb\n~~~~~ \nc", [("a\n~~~\nb", "sh")]),
        ("```\na\n\nb", [("a\n\nb", "")]),
        ("```a``` is no fence\nb", []),
        ("````md\n```\na\n```\n````\n```\n```", [("```\na\n```", "md"), ("", "")]),
        ("no code", []),
        ("```\r\na\r\n```", [("a", "")]),
        ("```\na\n``` x\n```", [("a\n``` x", "")]),
    ],
)
def test_code_between_fences(text: str, expected: list[tuple[str, str]]) -> None:
    """A fence is closed by one of its own sort that is not shorter, or by the end of the text."""
    assert expected == code_blocks(text)
