"""The command ``secrets``: the keys and passwords that are stored, and their removal."""

from reel.cli.commands.shared.import_secrets import own_fingerprints
from reel.cli.commands.shared.pager import paged
from reel.cli.commands.shared.secret_table import document, table
from reel.cli.commands.shared.stored_secrets import look
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.reading.wording import count


def secrets(ctx: Context) -> int:
    """List the secrets that are stored, or redact them."""
    fingerprint = own_fingerprints()
    found = look(ctx, fingerprint)
    if ctx.args.redact:
        from reel.cli.commands.shared.secret_redaction import redact_all  # noqa: PLC0415 - most only list them

        status = redact_all(ctx, found)
        left = sum(not stored.secret.masked for stored in look(ctx, fingerprint).stored) if status == OK else 0
        if left:
            ctx.out.warn(f"{count(left, 'place')} came meanwhile; repeat: {ctx.command('secrets', '--redact')}")
        return REFUSED if left else status
    if ctx.out.as_json:
        ctx.out.documents(document(found, stored) for stored in found.stored)
    elif not found.stored:
        ctx.out.line("no keys and no passwords were found")
    else:
        with paged(ctx):
            ctx.out.lines(table(ctx, found, found.stored))
        if plain := sum(not stored.secret.masked for stored in found.stored):
            ctx.out.hint(
                f"{count(plain, 'place')} with the secret itself; erase it with: {ctx.command('secrets', '--redact')}"
            )
    return OK
