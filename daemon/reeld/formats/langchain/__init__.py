"""Serialized messages of LangChain, an exchange format (the L rules of docs/provider-rules.md)."""

from reeld.formats.format import Format
from reeld.formats.langchain.read import read_request, read_response
from reeld.formats.langchain.rules import PROVIDER, rename_tools, sent_id, why_unsendable
from reeld.formats.langchain.write import write_prompt, write_turn

FORMAT = Format(
    name="langchain",
    provider=PROVIDER,
    history_key="messages",
    reserved_keys=frozenset({"messages"}),
    why_unsendable=why_unsendable,
    write_turn=write_turn,
    write_prompt=write_prompt,
    rename_tools=rename_tools,
    read_request=read_request,
    read_response=read_response,
    has_model=False,
    must_precede_content=lambda block: str(block["type"]) == "thinking",
    sent_id=sent_id,
    any_signature=True,
)
