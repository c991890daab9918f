"""A strict checker of request bodies: whether a provider's API accepts the history in one.

It is written from docs/provider-rules.md and the types of the official SDKs, and shares no code with what it judges.
"""

from typing import Any

from tests.formats.checker.ai_sdk import check as check_ai_sdk
from tests.formats.checker.anthropic import check as check_anthropic
from tests.formats.checker.bedrock_converse import check as check_bedrock_converse
from tests.formats.checker.chat_dialects import check_dialect
from tests.formats.checker.clouds import check_cloud
from tests.formats.checker.gemini import check as check_gemini
from tests.formats.checker.gemini_interactions import check as check_gemini_interactions
from tests.formats.checker.langchain import check as check_langchain
from tests.formats.checker.ollama import check as check_ollama
from tests.formats.checker.openai_chat import check as check_openai_chat
from tests.formats.checker.openai_responses import check as check_openai_responses
from tests.formats.checker.problem import Problem

__all__ = ["CHECKS", "Problem", "check"]

CHECKS = {
    "openai_chat": check_openai_chat,
    "openai_responses": check_openai_responses,
    "anthropic": check_anthropic,
    "gemini": check_gemini,
    "gemini_interactions": check_gemini_interactions,
    "ollama": check_ollama,
    "bedrock_converse": check_bedrock_converse,
    "ai_sdk": check_ai_sdk,
    "langchain": check_langchain,
}


def check(provider: str, body: dict[str, Any], model: str | None = None) -> list[Problem]:
    """List what the provider's API would refuse in a body; the model is the body's own where none is given.

    Without any (Gemini has it in the URL) the rules that depend on the model are skipped. A dialect follows after a
    slash.
    """
    provider, _, dialect = provider.replace("_", "-").partition("/")
    if dialect and provider == "openai-chat":
        return check_dialect(dialect, body, model)
    named = body.get("model")
    beside = check_cloud(f"{provider}/{dialect}", body) if dialect else []
    return beside + CHECKS[provider.replace("-", "_")](body, model or (named if isinstance(named, str) else None))
