"""OpenAI Responses (``formats.md`` section 2)."""

from reeld.formats.format import Dialect, Settings
from reeld.formats.openai import PROVIDER, rename
from reeld.formats.openai_responses.rules import head, identity, refuses
from reeld.formats.openai_responses.turns import entries
from reeld.formats.openai_responses.whole import is_reasoning

DIALECT = Dialect(
    provider=PROVIDER,
    history="input",
    owned=frozenset({"input", "instructions"}),
    has_model=True,
    alternates=False,
    calls_last=False,
    results_first=False,
    refuses=refuses,
    leads=is_reasoning,
    pair=lambda _block: None,
    identity=identity,
    entries=entries,
    head=head,
    settings=lambda _extra, _prompt: Settings(),
    rename=rename,
    objection=lambda _extra, _loop: None,
)
