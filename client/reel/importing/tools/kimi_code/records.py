"""The records of a log of Kimi Code: which ones say something, and which of their fields are used."""

# Records that say nothing about the conversation, by the beginnings of their types.
IGNORED = {
    "metadata": "beginning of a file",
    **dict.fromkeys(("tools.set_", "tools.reset_", "tools.register_", "tools.unregister_"), "list of tools"),
    **dict.fromkeys(("llm.tools_snapshot", "mcp.tools_discovered"), "list of tools"),
    **dict.fromkeys(("llm.request", "full_compaction.", "prompt.accepted"), "progress of a turn"),
    **dict.fromkeys(("staleGuard.", "interruptionReminder.", "task.waitDelivered"), "progress of a turn"),
    **dict.fromkeys(("permission.", "interaction."), "question to the person"),
    **dict.fromkeys(("plan_mode.", "swarm_mode.", "tower_mode.", "runtime.", "plugin.", "cron."), "settings"),
    **dict.fromkeys(("token_counting.", "context.update_token_count"), "size of the conversation"),
}
# Records that are kept as notes, as are those of unknown types.
NOTES = ("turn.", "goal.", "task.", "plan.", "tools.update_store", "micro_compaction.", "forked")
FIELDS = frozenset({"type", "time", "agentId"})
CONFIG = FIELDS | {
    *("cwd", "modelAlias", "profileName", "thinkingEffort", "thinkingLevel", "systemPrompt", "subagentNames"),
    *("environmentDisclosure", "agentsMdPaths", "activeToolNames", "disallowedTools", "subagents", "renderGeneration"),
}
COMPACTION = FIELDS | {
    *("summary", "contextSummary", "compactedCount", "count", "tokensBefore", "tokensAfter", "summaryOutputTokens"),
    *("keptUserMessageCount", "keptHeadUserMessageCount", "droppedCount", "legacyTail"),
}
MESSAGE = frozenset(
    {"role", "content", "toolCalls", "toolCallId", "origin", "id", "providerMessageId", "isError", "note", "partial"}
)
COUNTS = {"inputOther": "input", "output": "output", "inputCacheRead": "cacheRead", "inputCacheCreation": "cacheWrite"}
ROLES = ("user", "assistant", "tool", "system")
REPEATED_PROMPT = "prompt, which is a message as well"
