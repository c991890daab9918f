"""Amazon Bedrock Converse (the B rules of docs/provider-rules.md)."""

from reeld.formats.bedrock_converse.caching import count, fit_top, keep_newest, mark_end, mark_top
from reeld.formats.bedrock_converse.read import read_request, read_response
from reeld.formats.bedrock_converse.rules import (
    PROVIDER,
    calls_in,
    declare_tools,
    server_tool_half,
    why_invalid,
    why_unsendable,
)
from reeld.formats.bedrock_converse.write import TOOL_NAMES, write_prompt, write_turn
from reeld.formats.format import Caching, Format

FORMAT = Format(
    name="bedrock-converse",
    provider=PROVIDER,
    history_key="messages",
    reserved_keys=frozenset({"messages", "system"}),
    why_unsendable=why_unsendable,
    write_turn=write_turn,
    write_prompt=write_prompt,
    tool_names=TOOL_NAMES,
    read_request=read_request,
    read_response=read_response,
    tools_key="toolConfig",
    has_model=False,
    unsent_keys=frozenset({"model"}),
    alternates=True,
    server_tool_half=server_tool_half,
    why_invalid=why_invalid,
    caching=Caching(count, keep_newest, fit_top, mark_top, mark_end),
    server_state=calls_in,
    continue_state=declare_tools,
)
