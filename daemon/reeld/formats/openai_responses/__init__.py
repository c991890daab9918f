"""OpenAI Responses (the R rules of docs/provider-rules.md)."""

from reel.providers.openai import PROVIDER
from reeld.formats.format import Format
from reeld.formats.openai import TOOL_NAMES
from reeld.formats.openai_responses import items, read, rules, write

FORMAT = Format(
    name="openai-responses",
    provider=PROVIDER,
    history_key="input",
    reserved_keys=frozenset({"input", "instructions"}),
    why_unsendable=rules.why_unsendable,
    write_turn=write.write_turn,
    write_prompt=write.write_prompt,
    tool_names=TOOL_NAMES,
    read_request=read.read_request,
    read_response=read.read_response,
    after_calls="anything",
    results_first=False,
    must_precede_content=items.is_reasoning,
    belongs_to_next=items.is_only_reasoning,
    requires_reasoning=rules.requires_reasoning,
    begins_anew=items.from_compaction,
    keeps_messages=rules.keeps_messages,
    history_settings=rules.history_settings,
    why_invalid=rules.why_invalid,
    server_tool_half=rules.server_tool_half,
    unique_ids=rules.unique_ids,
    call_item_ids=rules.call_item_ids,
)
