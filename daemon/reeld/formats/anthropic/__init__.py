"""Anthropic Messages (the A rules of docs/provider-rules.md)."""

from reeld.formats.anthropic.caching import count, fit_top, keep_newest, mark_end, mark_top
from reeld.formats.anthropic.read import read_request, read_response
from reeld.formats.anthropic.rules import (
    PROVIDER,
    container_of,
    continue_container,
    history_settings,
    server_tool_half,
    why_invalid,
    why_unsendable,
)
from reeld.formats.anthropic.write import TOOL_NAMES, write_prompt, write_turn
from reeld.formats.format import Caching, Format

FORMAT = Format(
    name="anthropic",
    provider=PROVIDER,
    history_key="messages",
    reserved_keys=frozenset({"messages", "system"}),
    why_unsendable=why_unsendable,
    write_turn=write_turn,
    write_prompt=write_prompt,
    tool_names=TOOL_NAMES,
    read_request=read_request,
    read_response=read_response,
    alternates=True,
    server_tool_half=server_tool_half,
    history_settings=history_settings,
    why_invalid=why_invalid,
    caching=Caching(count, keep_newest, fit_top, mark_top, mark_end),
    server_state=container_of,
    continue_state=continue_container,
    resumable=True,
)
