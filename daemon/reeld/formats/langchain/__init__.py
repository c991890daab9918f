"""Serialized messages of LangChain, an exchange format (the L rules of docs/provider-rules.md)."""

from reeld.formats.format import Format
from reeld.formats.langchain import read, rules, write
from reeld.formats.openai import TOOL_NAMES

FORMAT = Format(
    name="langchain",
    provider=rules.PROVIDER,
    history_key="messages",
    reserved_keys=frozenset({"messages"}),
    why_unsendable=rules.why_unsendable,
    write_turn=write.write_turn,
    write_prompt=write.write_prompt,
    tool_names=TOOL_NAMES,
    read_request=read.read_request,
    read_response=read.read_response,
    has_model=False,
    unsent_keys=frozenset({"model"}),
    must_precede_content=lambda block: str(block["type"]) == "thinking",
    sent_id=rules.sent_id,
    any_signature=True,
    after_calls="own message",
)
