"""The table of formats: the one place that knows all of them."""

from reeld.formats.ai_sdk import FORMAT as AI_SDK
from reeld.formats.anthropic import FORMAT as ANTHROPIC
from reeld.formats.bedrock_converse import FORMAT as BEDROCK_CONVERSE
from reeld.formats.format import Format
from reeld.formats.gemini import FORMAT as GEMINI
from reeld.formats.gemini_interactions import FORMAT as GEMINI_INTERACTIONS
from reeld.formats.langchain import FORMAT as LANGCHAIN
from reeld.formats.ollama import FORMAT as OLLAMA
from reeld.formats.openai_chat import FORMAT as OPENAI_CHAT
from reeld.formats.openai_responses import FORMAT as OPENAI_RESPONSES

# In the order in which the protocol and the command line list them.
FORMATS: dict[str, Format] = {
    found.name: found
    for found in (
        OPENAI_CHAT,
        OPENAI_RESPONSES,
        ANTHROPIC,
        GEMINI,
        GEMINI_INTERACTIONS,
        OLLAMA,
        BEDROCK_CONVERSE,
        AI_SDK,
        LANGCHAIN,
    )
}
