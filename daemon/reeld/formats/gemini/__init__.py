"""Google Gemini generateContent (``formats.md`` section 4)."""

from reeld.formats.format import Dialect, Settings
from reeld.formats.gemini.extra import rename
from reeld.formats.gemini.parts import leads, pair, refuses
from reeld.formats.gemini.render import entries, head

DIALECT = Dialect(
    provider="gemini",
    history="contents",
    owned=frozenset({"contents", "systemInstruction", "system_instruction"}),
    has_model=False,
    alternates=True,
    calls_last=True,
    results_first=True,
    refuses=refuses,
    leads=leads,
    pair=pair,
    identity=lambda _block: None,
    entries=entries,
    head=head,
    settings=lambda _extra, _prompt: Settings(),
    rename=rename,
    objection=lambda _extra, _loop: None,
)
