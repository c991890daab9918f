"""Streams in the shapes of the APIs, and the response that each forms."""

from tests.reel.streams.samples.anthropic import ANTHROPIC
from tests.reel.streams.samples.bedrock_converse import BEDROCK, BEDROCK_SSE, BEDROCK_WHOLE
from tests.reel.streams.samples.google import GEMINI, GEMINI_ARRAY, INTERACTIONS
from tests.reel.streams.samples.langchain import LANGCHAIN
from tests.reel.streams.samples.ollama import OLLAMA, OLLAMA_WHOLE
from tests.reel.streams.samples.openai_chat import CHAT, CHAT_DETAILS, CHAT_SIGNED, CHAT_THINKING
from tests.reel.streams.samples.openai_responses import RESPONSES

SAMPLES = {
    "chat": CHAT,
    "chat-details": CHAT_DETAILS,
    "chat-thinking": CHAT_THINKING,
    "chat-signed": CHAT_SIGNED,
    "responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "gemini-array": GEMINI_ARRAY,
    "interactions": INTERACTIONS,
    "ollama": OLLAMA,
    "ollama-whole": OLLAMA_WHOLE,
    "langchain": LANGCHAIN,
    "bedrock": BEDROCK,
    "bedrock-whole": BEDROCK_WHOLE,
    "bedrock-sse": BEDROCK_SSE,
}
