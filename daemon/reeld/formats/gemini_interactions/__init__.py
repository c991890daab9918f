"""Google's Interactions API (the I rules of docs/provider-rules.md)."""

from reeld.formats.format import Format
from reeld.formats.gemini.rules import PROVIDER
from reeld.formats.gemini_interactions.read import read_request, read_response
from reeld.formats.gemini_interactions.rules import (
    must_precede_content,
    server_tool_half,
    unique_ids,
    why_invalid,
    why_unsendable,
)
from reeld.formats.gemini_interactions.write import TOOL_NAMES, write_prompt, write_turn

FORMAT = Format(
    name="gemini-interactions",
    provider=PROVIDER,
    history_key="input",
    reserved_keys=frozenset({"input", "system_instruction"}),
    why_unsendable=why_unsendable,
    write_turn=write_turn,
    write_prompt=write_prompt,
    tool_names=TOOL_NAMES,
    read_request=read_request,
    read_response=read_response,
    defaults={"store": False},
    alternates=True,
    must_precede_content=must_precede_content,
    server_tool_half=server_tool_half,
    server_tools_span=False,
    unique_ids=unique_ids,
    why_invalid=why_invalid,
)
