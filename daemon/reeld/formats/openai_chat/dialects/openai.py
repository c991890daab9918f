"""OpenAI itself, and the servers of which nothing else is known."""

from reeld.formats.openai_chat.dialects.dialect import Dialect

DIALECT = Dialect("openai", "Chat Completions", is_openai=True, null_content=True, one_text=False)
