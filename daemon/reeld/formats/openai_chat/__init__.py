"""OpenAI Chat Completions, and the servers with the same API (the C rules of docs/provider-rules.md)."""

from reeld.formats.format import Format
from reeld.formats.openai import PROVIDER, rename_tools
from reeld.formats.openai_chat.read import read_request, read_response
from reeld.formats.openai_chat.rules import NAME, why_unsendable
from reeld.formats.openai_chat.write import write_prompt, write_turn

FORMAT = Format(
    name=NAME,
    provider=PROVIDER,
    history_key="messages",
    reserved_keys=frozenset({"messages"}),
    why_unsendable=why_unsendable,
    write_turn=write_turn,
    write_prompt=write_prompt,
    rename_tools=rename_tools,
    read_request=read_request,
    read_response=read_response,
)
