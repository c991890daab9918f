"""Google's Interactions API (the I rules of docs/provider-rules.md)."""

from functools import cache, partial

from reel.providers.gemini import PROVIDER
from reeld.formats.format import Format
from reeld.formats.gemini_interactions import read, rules, write

# The servers of this API: neither reads what the other signed (rule G13).
_DIALECTS = ("ai-studio", "vertex")


@cache
def _format(dialect: str | None) -> Format:
    """Return the format in a dialect; without one it is not known which server answers."""
    return Format(
        name="gemini-interactions" if dialect is None else f"gemini-interactions/{dialect}",
        provider=PROVIDER,
        history_key="input",
        reserved_keys=frozenset({"input", "system_instruction"}),
        why_unsendable=partial(rules.why_unsendable, dialect),
        write_turn=partial(write.write_turn, dialect),
        write_prompt=write.write_prompt,
        tool_names=write.TOOL_NAMES,
        read_request=read.read_request,
        read_response=read.read_response,
        defaults={"store": False},
        signed_in=dialect,
        alternates=True,
        after_calls="own message",
        must_precede_content=rules.must_precede_content,
        server_tool_half=rules.server_tool_half,
        server_tools_span=False,
        unique_ids=rules.unique_ids,
        why_invalid=rules.why_invalid,
    )


def _in_dialect(name: str | None, _model: str | None) -> Format:
    return _format(name)


FORMAT = _format(None)._replace(dialects=_DIALECTS, in_dialect=_in_dialect)
