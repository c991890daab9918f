"""Google Gemini generateContent (the G rules of docs/provider-rules.md)."""

from reeld.formats.format import Format
from reeld.formats.gemini.read import read_request, read_response
from reeld.formats.gemini.rules import PROVIDER, server_tool_half, why_unsendable
from reeld.formats.gemini.write import TOOL_NAMES, write_prompt, write_turn

FORMAT = Format(
    name="gemini",
    provider=PROVIDER,
    history_key="contents",
    reserved_keys=frozenset({"contents", "systemInstruction", "system_instruction"}),
    why_unsendable=why_unsendable,
    write_turn=write_turn,
    write_prompt=write_prompt,
    tool_names=TOOL_NAMES,
    read_request=read_request,
    read_response=read_response,
    has_model=False,
    unsent_keys=frozenset({"model"}),
    alternates=True,
    server_tool_half=server_tool_half,
)
