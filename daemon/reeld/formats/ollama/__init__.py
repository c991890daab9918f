"""Ollama's own API, ``/api/chat`` (the O rules of docs/provider-rules.md)."""

from reeld.formats.format import Format
from reeld.formats.ollama.read import read_request, read_response
from reeld.formats.ollama.rules import PROVIDER, why_unsendable
from reeld.formats.ollama.write import write_prompt, write_turn
from reeld.formats.openai import TOOL_NAMES

FORMAT = Format(
    name="ollama",
    provider=PROVIDER,
    history_key="messages",
    reserved_keys=frozenset({"messages"}),
    why_unsendable=why_unsendable,
    write_turn=write_turn,
    write_prompt=write_prompt,
    tool_names=TOOL_NAMES,
    read_request=read_request,
    read_response=read_response,
)
