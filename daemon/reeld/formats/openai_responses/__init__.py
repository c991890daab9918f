"""OpenAI Responses (the R rules of docs/provider-rules.md)."""

from reeld.formats.format import Format
from reeld.formats.openai import PROVIDER, TOOL_NAMES
from reeld.formats.openai_responses.items import is_only_reasoning, is_reasoning
from reeld.formats.openai_responses.read import read_request, read_response
from reeld.formats.openai_responses.rules import (
    call_item_ids,
    history_settings,
    requires_reasoning,
    server_tool_half,
    unique_ids,
    why_unsendable,
)
from reeld.formats.openai_responses.write import write_prompt, write_turn

FORMAT = Format(
    name="openai-responses",
    provider=PROVIDER,
    history_key="input",
    reserved_keys=frozenset({"input", "instructions"}),
    why_unsendable=why_unsendable,
    write_turn=write_turn,
    write_prompt=write_prompt,
    tool_names=TOOL_NAMES,
    read_request=read_request,
    read_response=read_response,
    calls_last=False,
    results_first=False,
    must_precede_content=is_reasoning,
    belongs_to_next=is_only_reasoning,
    requires_reasoning=requires_reasoning,
    history_settings=history_settings,
    server_tool_half=server_tool_half,
    unique_ids=unique_ids,
    call_item_ids=call_item_ids,
)
