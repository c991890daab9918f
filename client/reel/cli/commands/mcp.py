"""The command ``mcp``: let agents read earlier conversations."""

from __future__ import annotations

from reel.cli.line.context import Context


def mcp(ctx: Context) -> int:
    """Answer an agent on stdin and stdout, until it closes its end."""
    import anyio  # noqa: PLC0415 - with the server, it costs a tenth of a second

    from reel.cli.commands.shared.import_secrets import masking_by, mode_of  # noqa: PLC0415 - as above
    from reel.mcp.server import Options, serve  # noqa: PLC0415 - as above

    masking = None if ctx.args.no_import else masking_by(mode_of(ctx))
    anyio.run(serve, Options(ctx.socket, ctx.starts, ctx.args.write, ctx.args.show_secrets, masking))
    return 0
