"""The dialects of Chat Completions: one module for each, and here their table.

To add one, write a module with a ``DIALECT`` and name it in the table; its facts are D rules of docs/provider-rules.md.
"""

from reeld.formats.openai_chat.dialects.deepseek import DIALECT as DEEPSEEK
from reeld.formats.openai_chat.dialects.dialect import Dialect
from reeld.formats.openai_chat.dialects.gemini import DIALECT as GEMINI
from reeld.formats.openai_chat.dialects.kimi import DIALECT as KIMI
from reeld.formats.openai_chat.dialects.llama_cpp import DIALECT as LLAMA_CPP
from reeld.formats.openai_chat.dialects.lm_studio import DIALECT as LM_STUDIO
from reeld.formats.openai_chat.dialects.local import served
from reeld.formats.openai_chat.dialects.mistral import DIALECT as MISTRAL
from reeld.formats.openai_chat.dialects.openai import DIALECT as OPENAI
from reeld.formats.openai_chat.dialects.openrouter import DIALECT as OPENROUTER
from reeld.formats.openai_chat.dialects.qwen import DIALECT as QWEN
from reeld.formats.openai_chat.dialects.vllm import DIALECT as VLLM
from reeld.formats.openai_chat.dialects.xai import DIALECT as XAI

# In the order in which the protocol and the command line list them.
_ALL = (OPENAI, DEEPSEEK, KIMI, QWEN, OPENROUTER, GEMINI, MISTRAL, XAI, VLLM, LLAMA_CPP, LM_STUDIO)
DIALECTS: dict[str, Dialect] = {found.name: found for found in _ALL}
_LOCAL = (VLLM, LLAMA_CPP, LM_STUDIO)


def dialect_for(name: str | None, model: str | None) -> Dialect:
    """Return a dialect by its name and the model's; without a name, the one that the model's name tells (rule D2).

    Args:
        name: a key of ``DIALECTS``.
        model: the model.
    """
    if name is None:
        return next((found for found in _ALL if found.models and found.models.fullmatch(model or "")), OPENAI)
    dialect = DIALECTS[name]
    return served(dialect, model) if dialect in _LOCAL else dialect
