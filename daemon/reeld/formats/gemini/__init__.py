"""Google Gemini generateContent (the G rules of docs/provider-rules.md)."""

from reel.providers.gemini import PROVIDER
from reeld.formats.format import Format
from reeld.formats.gemini import read, rules, write

FORMAT = Format(
    name="gemini",
    provider=PROVIDER,
    history_key="contents",
    reserved_keys=frozenset({"contents", "systemInstruction", "system_instruction"}),
    why_unsendable=rules.why_unsendable,
    write_turn=write.write_turn,
    write_prompt=write.write_prompt,
    tool_names=write.TOOL_NAMES,
    read_request=read.read_request,
    read_response=read.read_response,
    has_model=False,
    unsent_keys=frozenset({"model"}),
    alternates=True,
    must_precede_content=rules.must_precede_content,
    server_tool_half=rules.server_tool_half,
)
