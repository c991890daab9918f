"""Anthropic Messages (``formats.md`` section 3)."""

from reeld.formats.anthropic.blocks import leads, pair, refuses
from reeld.formats.anthropic.extra import objection, rename, settings
from reeld.formats.anthropic.render import entries, head
from reeld.formats.format import Dialect

DIALECT = Dialect(
    provider="anthropic",
    history="messages",
    owned=frozenset({"messages", "system"}),
    has_model=True,
    alternates=True,
    calls_last=True,
    results_first=True,
    refuses=refuses,
    leads=leads,
    pair=pair,
    identity=lambda _block: None,
    entries=entries,
    head=head,
    settings=settings,
    rename=rename,
    objection=objection,
    pauses=True,
)
