"""Google Gemini generateContent (the G rules of docs/provider-rules.md)."""

from functools import cache, partial

from reel.base.strict_json import Json
from reel.providers.gemini import PROVIDER
from reeld.formats.format import Format
from reeld.formats.gemini import read, rules, write

# The servers of this API, and their defaults: neither reads what the other signed (rule G13).
_DIALECTS: dict[str, Json] = {"ai-studio": {"store": False}, "vertex": {}}


@cache
def _format(dialect: str | None) -> Format:
    """Return the format in a dialect; without one it is not known which server answers."""
    return Format(
        name="gemini" if dialect is None else f"gemini/{dialect}",
        provider=PROVIDER,
        history_key="contents",
        reserved_keys=frozenset({"contents", "systemInstruction", "system_instruction"}),
        why_unsendable=partial(rules.why_unsendable, dialect),
        write_turn=partial(write.write_turn, dialect),
        write_prompt=write.write_prompt,
        tool_names=write.TOOL_NAMES,
        read_request=read.read_request,
        read_response=read.read_response,
        defaults=_DIALECTS.get(dialect or "", {}),
        has_model=False,
        unsent_keys=frozenset({"model"}),
        signed_in=dialect,
        alternates=True,
        must_precede_content=rules.must_precede_content,
        server_tool_half=rules.server_tool_half,
    )


def _in_dialect(name: str | None, _model: str | None) -> Format:
    return _format(name)


FORMAT = _format(None)._replace(dialects=tuple(_DIALECTS), in_dialect=_in_dialect)
