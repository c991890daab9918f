"""Amazon Bedrock Converse (the B rules of docs/provider-rules.md)."""

from reeld.formats.bedrock_converse import caching, read, rules, write
from reeld.formats.format import Caching, Format

FORMAT = Format(
    name="bedrock-converse",
    provider=rules.PROVIDER,
    history_key="messages",
    reserved_keys=frozenset({"messages", "system"}),
    why_unsendable=rules.why_unsendable,
    write_turn=write.write_turn,
    write_prompt=write.write_prompt,
    tool_names=write.TOOL_NAMES,
    read_request=read.read_request,
    read_response=read.read_response,
    tools_key="toolConfig",
    has_model=False,
    unsent_keys=frozenset({"model"}),
    alternates=True,
    after_calls="own message",
    server_tool_half=rules.server_tool_half,
    binds_thinking=rules.binds_thinking,
    why_invalid=rules.why_invalid,
    caching=Caching(caching.MOST, caching.count, caching.newest, caching.own, caching.mark_top, caching.mark_end),
    server_state=rules.calls_in,
    continue_state=rules.declare_tools,
)
