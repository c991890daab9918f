"""Conversations of Vercel's AI SDK, to exchange them (the V rules of docs/provider-rules.md)."""

from reeld.formats.ai_sdk import options, read, rules, write
from reeld.formats.format import Format

FORMAT = Format(
    name="ai-sdk",
    provider=options.PROVIDER,
    history_key="messages",
    reserved_keys=frozenset({"messages", "prompt", "system", "instructions"}),
    why_unsendable=rules.why_unsendable,
    write_turn=write.write_turn,
    write_prompt=write.write_prompt,
    tool_names=write.TOOL_NAMES,
    read_request=read.read_request,
    read_response=None,
    has_model=False,
    any_signature=True,
    after_calls="own message",
    must_precede_content=rules.must_precede_content,
    server_tool_half=rules.server_tool_half,
    server_tools_span=False,
    unique_ids=rules.unique_ids,
)
