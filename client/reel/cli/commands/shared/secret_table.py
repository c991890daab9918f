"""How the secrets that are stored are shown."""

from collections.abc import Iterator, Sequence
from typing import Any

from reel.cli.commands.shared.stored_secrets import Look, Stored
from reel.cli.line.context import Context
from reel.cli.screen.output import Line
from reel.reading.wording import age, cut, full_time, pad

_HEAD = ("KIND", "FINGERPRINT", "STORED", "FIRST SEEN", "SENT", "SEQ", "CONVERSATION")
_SHOWN_DIGITS = 8


def document(found: Look, stored: Stored) -> dict[str, Any]:
    """Return a secret as JSON has it; whether it was sent is true, or null if that is not known."""
    return {
        **stored.secret._asdict(),
        "conversation": found.names.get(stored.reader, ""),
        "agent": stored.agent,
        "seq": stored.seq,
        "time": stored.time,
        "first_seen": found.first_seen[stored.secret.fingerprint],
        "sent": stored.sent or None,
    }


def table(ctx: Context, found: Look, shown: Sequence[Stored]) -> Iterator[Line]:
    """Lay secrets out as a table."""
    when = age if ctx.out.terminal else full_time
    rows = [_HEAD] if ctx.out.terminal else []
    rows += [
        (
            stored.secret.kind,
            stored.secret.fingerprint[: _SHOWN_DIGITS if ctx.out.terminal else None],
            "masked" if stored.secret.masked else "as it is",
            when(found.first_seen[stored.secret.fingerprint]),
            "sent" if stored.sent else "not known",
            str(stored.seq),
            found.names.get(stored.reader, ""),
        )
        for stored in shown
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    for number, row in enumerate(rows):
        line = "  ".join(pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
        line = line if ctx.out.width is None or not ctx.out.terminal else cut(line, ctx.out.width)
        yield [(line, "dim" if ctx.out.terminal and not number else "")]
