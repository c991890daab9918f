"""Whatever a model answers, in whatever order, and whatever is changed meanwhile: the conversation goes on."""

import pytest

from tests.reeld.formats.hostile_talk import Talk
from tests.thoroughness import FUZZ, sampled

pytestmark = [pytest.mark.slow, sampled]

# So many conversations with each. `make fuzz` has a hundred times as many.
TALKS = FUZZ // 100 or 2
STEPS = 16
HOMES: dict[str, list[str]] = {
    "anthropic": ["claude-opus-5-5", "claude-fable-5-1", "claude-opus-4-8"],
    "bedrock-converse": ["us.anthropic.claude-opus-5-5", "us.anthropic.claude-opus-4-8", "amazon.nova-pro-v1:0"],
    "gemini": ["gemini-3-pro-preview", "gemini-2.5-flash"],
    "gemini-interactions": ["gemini-3-pro-preview"],
    "openai-responses": ["gpt-5.6", "gpt-5.2"],
    "openai-chat": ["gpt-5.2"],
    "openai-chat/deepseek": ["deepseek-v4-pro"],
    "openai-chat/mimo": ["mimo-v2.5-pro"],
    "openai-chat/minimax": ["MiniMax-M3"],
    "openai-chat/perplexity": ["sonar-pro"],
    "ollama": ["qwen3:8b"],
    "langchain": ["claude-opus-5-5"],
}


@pytest.mark.parametrize("name", HOMES)
def test_whatever_is_answered_the_conversation_goes_on(name: str) -> None:
    """Each prefix is accepted and only grows, answers keep their order, and no thinking is behind something else."""
    for seed in range(TALKS):
        talk = Talk(seed, name, HOMES[name])
        for _ in range(STEPS):
            talk.step()
