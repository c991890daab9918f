"""Conversations of Vercel's AI SDK, to exchange them (the V rules of docs/provider-rules.md)."""

from reeld.formats.ai_sdk.options import PROVIDER
from reeld.formats.ai_sdk.read import read_request
from reeld.formats.ai_sdk.rules import must_precede_content, server_tool_half, unique_ids, why_unsendable
from reeld.formats.ai_sdk.write import TOOL_NAMES, write_prompt, write_turn
from reeld.formats.format import Format

FORMAT = Format(
    name="ai-sdk",
    provider=PROVIDER,
    history_key="messages",
    reserved_keys=frozenset({"messages", "prompt", "system", "instructions"}),
    why_unsendable=why_unsendable,
    write_turn=write_turn,
    write_prompt=write_prompt,
    tool_names=TOOL_NAMES,
    read_request=read_request,
    read_response=None,
    has_model=False,
    any_signature=True,
    must_precede_content=must_precede_content,
    server_tool_half=server_tool_half,
    server_tools_span=False,
    unique_ids=unique_ids,
)
