"""The command ``socket``."""

from reel.cli.line.context import Context


def socket(ctx: Context) -> None:
    """Print the path of the daemon's socket."""
    ctx.report({"socket": ctx.socket}, ctx.socket)
