"""The names that the checker has for the rules of docs/provider-rules.md, by provider."""

from tests.formats.checker.betas import RULE as BETA_RULE
from tests.formats.checker.chat_dialects import RULES as DIALECT_RULES
from tests.formats.checker.clouds import RULES as CLOUD_RULES
from tests.formats.checker.clouds import SIGNED_ELSEWHERE

RULES = {
    "openai_chat": {
        *("tool-call-unanswered", "tool-result-orphan", "tool-result-duplicate", "tool-call-duplicate"),
        *("null-content", "empty-content-array", "empty-tool-calls", "empty-text", "shape", "arguments-json"),
        *("image-role", "audio-model", "tool-call-id", "tool-name", "message-name", "empty-history"),
        "functions-while-reasoning",
    },
    "chat_dialects": set(DIALECT_RULES),
    "openai_responses": {
        *("tool-call-unanswered", "tool-result-orphan", "tool-result-duplicate", "tool-call-duplicate"),
        *("tool-call-id", "item-id", "item-id-duplicate", "part-role", "role", "empty-content-array"),
        *("reasoning-unpaired", "reasoning-not-stored", "reasoning-output-only", "empty-history"),
        *("compaction-not-first", "history-elsewhere"),
    },
    "anthropic": {
        *("alternation", "first-role", "tool-call-unanswered", "tool-result-orphan", "tool-result-duplicate"),
        *("tool-call-duplicate", "server-tool-after-call", "tool-result-not-first", "server-tool-unanswered"),
        *("server-tool-orphan", "system-role", "prefill", "empty-content", "empty-text", "blank-text"),
        *("trailing-whitespace", "error-result-text", "media-role", "shape", "tool-call-id", "tool-name"),
        *("cache-marks", "tool-declared-twice", "thinking-signature", "thinking-first", "thinking-last"),
        *("thinking-disabled", "thinking-role", "thinking-kind", "prefix-changed", "empty-history"),
        *("fallback-declined", "forced-tool"),
        *("compaction-not-first", "history-elsewhere"),
    },
    "anthropic_clouds": {CLOUD_RULES["anthropic"], BETA_RULE},
    "gemini_clouds": {CLOUD_RULES["gemini"], SIGNED_ELSEWHERE},
    "gemini": {
        *("role", "function-call-turn", "function-response-turn", "function-parity", "tool-result-not-first"),
        *("function-response-mixed", "function-names", "function-order", "function-ids", "last-role", "tool-role"),
        *("shape", "empty-parts", "part-data", "empty-text", "tool-name", "media-resolution"),
        *("tool-declared-twice", "thought-signature", "system-parts", "empty-history"),
    },
    "gemini_interactions": {
        *("empty-history", "first-step", "tool-call-unanswered", "tool-result-orphan", "tool-result-duplicate"),
        *("tool-call-duplicate", "function-names", "tool-result-not-first", "server-tool-after-call"),
        *("thought-signature", "thought-last", "server-tool-unanswered", "server-tool-orphan", "empty-text"),
        *("tool-name", "tool-declared-twice", "last-role", "shape"),
    },
    "ollama": {
        *("empty-history", "shape", "role", "arguments-object", "image-data", "image-role", "tool-call-unanswered"),
        *("tool-result-orphan", "tool-result-duplicate", "tool-call-duplicate", "tool-result-name"),
    },
    "bedrock_converse": {
        *("empty-history", "alternation", "first-role", "last-role", "tool-call-unanswered", "tool-result-orphan"),
        *("tool-result-duplicate", "tool-call-duplicate", "server-tool-after-call", "tool-result-mixed", "tool-config"),
        "tool-call-mixed",
        *("tool-role", "server-tool-orphan", "shape", "empty-content", "blank-text", "error-result-text"),
        *("result-status", "result-media", "media-role", "document-name", "document-text", "tool-call-id"),
        *("tool-name", "tool-declared-twice", "reasoning-signature", "reasoning-last", "reasoning-role"),
        *("cache-points", "thinking-kind", "forced-tool"),
    },
    "ai_sdk": {
        *("empty-history", "role", "tool-call-unanswered", "tool-result-orphan", "tool-result-duplicate"),
        *("tool-call-duplicate", "server-tool-unanswered", "server-tool-orphan", "server-tool-after-call"),
        *("tool-name", "tool-call-id", "empty-text", "last-role", "shape"),
    },
    "langchain": {
        *("empty-history", "shape", "block-shape", "arguments-object", "tool-call-id", "tool-call-unanswered"),
        *("tool-result-orphan", "tool-result-duplicate", "tool-call-duplicate"),
    },
}
