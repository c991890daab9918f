"""Ollama's own API, ``/api/chat`` (the O rules of docs/provider-rules.md)."""

from reeld.formats.format import Format
from reeld.formats.ollama.read import read_request, read_response
from reeld.formats.ollama.rules import PROVIDER, must_precede_content, why_unsendable
from reeld.formats.ollama.write import write_prompt, write_turn
from reeld.formats.openai import rename_tools

FORMAT = Format(
    name="ollama",
    provider=PROVIDER,
    history_key="messages",
    reserved_keys=frozenset({"messages"}),
    why_unsendable=why_unsendable,
    write_turn=write_turn,
    write_prompt=write_prompt,
    rename_tools=rename_tools,
    read_request=read_request,
    read_response=read_response,
    must_precede_content=must_precede_content,
)
