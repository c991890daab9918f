"""OpenAI Chat Completions, and what speaks like it (``formats.md`` section 1)."""

from reeld.formats.format import Dialect, Settings
from reeld.formats.openai import PROVIDER, rename
from reeld.formats.openai_chat.rules import head, refuses
from reeld.formats.openai_chat.turns import entries

DIALECT = Dialect(
    provider=PROVIDER,
    history="messages",
    owned=frozenset({"messages"}),
    has_model=True,
    alternates=False,
    calls_last=True,
    results_first=True,
    refuses=refuses,
    leads=lambda _block: False,
    pair=lambda _block: None,
    identity=lambda _block: None,
    entries=entries,
    head=head,
    settings=lambda _extra, _prompt: Settings(),
    rename=rename,
    objection=lambda _extra, _loop: None,
)
