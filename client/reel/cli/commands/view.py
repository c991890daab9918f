"""The command ``view``: conversations in a browser."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from functools import partial

from reel.cli.line.context import Context
from reel.cli.line.exits import INTERRUPTED, OK, REFUSED

# Without one of these, there is no screen for a browser of its own; one in the terminal would cover the link.
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def view(ctx: Context) -> int:
    """Show conversations in a browser, until Ctrl-C."""
    ctx.client.connect()
    page = "/"
    if ctx.agent:
        page = f"/conversation?agent={ctx.client.agent(ctx.agent).id}"
    try:
        from reel.viewing.server import view as serve  # noqa: PLC0415 - it costs a quarter of a second
    except ModuleNotFoundError as error:
        from reel.base.installation import install_command  # noqa: PLC0415 - only then

        ctx.out.warn(f"{error.name} is missing, which reel view needs; install it with: {install_command()}")
        return REFUSED
    number = serve(ctx.socket, page, ctx.args.port or 0, partial(_announce, ctx))
    return INTERRUPTED if number == signal.SIGINT else OK


def _announce(ctx: Context, link: str) -> None:
    """Print the link, and open a browser."""
    opens = not ctx.args.no_browser and has_screen(os.environ, sys.platform)
    if ctx.out.as_json:
        ctx.out.document({"link": link})
    else:
        ctx.out.line(link)
        ctx.out.hint(f"{'opening a browser' if opens else 'open it in a browser'}; it can be used once. Ctrl-C ends it")
    sys.stdout.flush()
    if opens:
        from webbrowser import open_new_tab  # noqa: PLC0415 - only here

        if not open_new_tab(link):
            ctx.out.warn("no browser was found; open the link in one")


def has_screen(environment: Mapping[str, str], platform: str) -> bool:
    """Return whether a browser would have a window.

    Args:
        environment: the variables of the environment.
        platform: as in ``sys.platform``.
    """
    return platform == "darwin" or any(environment.get(name) for name in _SCREENS)
