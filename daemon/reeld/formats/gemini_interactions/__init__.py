"""Google's Interactions API (the I rules of docs/provider-rules.md)."""

from reel.providers.gemini import PROVIDER
from reeld.formats.format import Format
from reeld.formats.gemini_interactions import read, rules, write

FORMAT = Format(
    name="gemini-interactions",
    provider=PROVIDER,
    history_key="input",
    reserved_keys=frozenset({"input", "system_instruction"}),
    why_unsendable=rules.why_unsendable,
    write_turn=write.write_turn,
    write_prompt=write.write_prompt,
    tool_names=write.TOOL_NAMES,
    read_request=read.read_request,
    read_response=read.read_response,
    defaults={"store": False},
    alternates=True,
    after_calls="own message",
    must_precede_content=rules.must_precede_content,
    server_tool_half=rules.server_tool_half,
    server_tools_span=False,
    unique_ids=rules.unique_ids,
    why_invalid=rules.why_invalid,
)
