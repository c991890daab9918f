"""The tokens that responses used, in groups."""

from collections.abc import Iterator
from html import escape

from reel.cli.usage_sums import Sum, whole
from reel.viewing.frame import address, link, marked

_COLUMNS = ("Responses", "In", "Cached", "Out", "Reasoning")
BY = ("model", "day")


def usage(agent: str | None, by: str, sums: dict[str, Sum]) -> Iterator[str]:
    """Yield the table.

    Args:
        agent: the id of the agent; ``None`` for all.
        by: what the groups are: ``model``, ``day`` or ``tag:KEY``.
        sums: the groups.
    """
    yield '<main id="main" tabindex="-1">\n<p class="choices">By '
    for choice in BY:
        target = escape(address("/usage", agent=agent, by=choice))
        yield f'<a href="{target}"{marked(is_current=choice == by)}>{choice}</a> '
    if agent is not None:
        yield f"· {link('of all conversations', '/usage', by=by)}"
    yield "</p>\n"
    if not sums:
        yield '<p class="note">No response has said how many tokens it used.</p>\n</main>\n'
        return
    heads = "".join(f'<th scope="col">{column}</th>' for column in _COLUMNS)
    yield f'<table class="usage">\n<thead><tr><th scope="col">{escape(by)}</th>{heads}</tr></thead>\n<tbody>\n'
    for name, entry in sorted(sums.items()):
        yield _row(name, entry)
    yield "</tbody>\n"
    if len(sums) > 1:
        yield f"<tfoot>\n{_row('total', whole(sums.values()))}</tfoot>\n"
    yield "</table>\n</main>\n"


def _row(name: str, entry: Sum) -> str:
    numbers = "".join(f"<td>{number:,}</td>" for number in entry.columns)
    return f'<tr><th scope="row">{escape(name)}</th>{numbers}</tr>\n'
