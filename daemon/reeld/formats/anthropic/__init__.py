"""Anthropic Messages (the A rules of docs/provider-rules.md), and the clouds that serve it (rule A22)."""

from reel.providers.anthropic import PROVIDER
from reeld.formats.anthropic import betas, caching, read, rules, write
from reeld.formats.format import Caching, Format

_API = Format(
    name="anthropic",
    provider=PROVIDER,
    history_key="messages",
    reserved_keys=frozenset({"messages", "system"}),
    why_unsendable=rules.why_unsendable,
    write_turn=write.write_turn,
    write_prompt=write.write_prompt,
    tool_names=write.TOOL_NAMES,
    read_request=read.read_request,
    read_response=read.read_response,
    begins_anew=rules.from_compaction,
    unsent_keys=frozenset(betas.KEYS),
    why_undeclared=betas.why_undeclared,
    betas=betas.header,
    binds_thinking=rules.binds_thinking,
    sends_settings=rules.sends_settings,
    alternates=True,
    after_calls="own message",
    server_tool_half=rules.server_tool_half,
    made_by_tool=rules.made_by_tool,
    history_settings=rules.history_settings,
    why_invalid=rules.why_invalid,
    caching=Caching(caching.MOST, caching.count, caching.newest, caching.own, caching.mark_top, caching.mark_end),
    server_state=rules.container_of,
    continue_state=rules.continue_container,
    resumable=True,
)
# The clouds in whose URL the model is. The version of their API is not that of Anthropic's, and is in the body.
_DIALECTS = {
    "vertex": _API._replace(
        name="anthropic/vertex",
        defaults={"anthropic_version": "vertex-2023-10-16"},
        has_model=False,
        unsent_keys=frozenset({*betas.KEYS, "model"}),
    ),
    "bedrock-invoke": _API._replace(
        name="anthropic/bedrock-invoke",
        defaults={"anthropic_version": "bedrock-2023-05-31"},
        has_model=False,
        unsent_keys=frozenset({*betas.KEYS, "model", "stream"}),
        betas_key="anthropic_beta",
    ),
    "foundry": _API,
}


def _in_dialect(name: str | None, _model: str | None) -> Format:
    return _API if name is None else _DIALECTS[name]


FORMAT = _API._replace(dialects=tuple(_DIALECTS), in_dialect=_in_dialect)
