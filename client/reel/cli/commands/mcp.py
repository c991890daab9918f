"""The command ``mcp``: let agents read earlier conversations."""

from __future__ import annotations

from reel.cli.line.context import Context


def mcp(ctx: Context) -> int:
    """Answer an agent on stdin and stdout, until it closes its end."""
    import anyio  # noqa: PLC0415 - with the server, it costs a tenth of a second

    from reel.mcp.server import Options, serve  # noqa: PLC0415 - as above

    anyio.run(serve, Options(ctx.socket, ctx.starts, ctx.args.write, ctx.args.show_secrets))
    return 0
