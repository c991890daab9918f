"""``reel view``, up to its server."""

import pytest

from reel.cli.commands.view import has_screen


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"BROWSER": "firefox"}, "linux", True),
        ({}, "linux", False),
        ({"DISPLAY": ""}, "linux", False),
        ({}, "darwin", True),
    ],
)
def test_a_browser_needs_a_screen(environment: dict[str, str], platform: str, expected: bool) -> None:
    """Without a screen none is opened: one in the terminal would cover the link."""
    assert has_screen(environment, platform) == expected
