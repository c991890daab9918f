"""Serialized messages of LangChain, an exchange format (the L rules of docs/provider-rules.md)."""

from reeld.formats.format import Format
from reeld.formats.langchain.read import read_request, read_response
from reeld.formats.langchain.rules import PROVIDER, sent_id, why_unsendable
from reeld.formats.langchain.write import write_prompt, write_turn
from reeld.formats.openai import TOOL_NAMES

FORMAT = Format(
    name="langchain",
    provider=PROVIDER,
    history_key="messages",
    reserved_keys=frozenset({"messages"}),
    why_unsendable=why_unsendable,
    write_turn=write_turn,
    write_prompt=write_prompt,
    tool_names=TOOL_NAMES,
    read_request=read_request,
    read_response=read_response,
    has_model=False,
    unsent_keys=frozenset({"model"}),
    must_precede_content=lambda block: str(block["type"]) == "thinking",
    sent_id=sent_id,
    any_signature=True,
)
