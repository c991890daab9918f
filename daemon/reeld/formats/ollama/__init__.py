"""Ollama's own API, ``/api/chat`` (the O rules of docs/provider-rules.md)."""

from reeld.formats.format import Format
from reeld.formats.ollama import read, rules, write
from reeld.formats.openai import TOOL_NAMES

FORMAT = Format(
    name="ollama",
    provider=rules.PROVIDER,
    history_key="messages",
    reserved_keys=frozenset({"messages"}),
    why_unsendable=rules.why_unsendable,
    write_turn=write.write_turn,
    write_prompt=write.write_prompt,
    tool_names=TOOL_NAMES,
    read_request=read.read_request,
    read_response=read.read_response,
)
