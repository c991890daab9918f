"""Reading the histories of other tools, and adding them to reel.

A reader for each tool (``tools``) turns files into steps (:mod:`reel.importing.steps`): what was said, and where the
conversation went back. :mod:`reel.importing.adding` turns steps into commands, whichever tool they are from. The daemon
knows nothing of foreign files. Nothing of a source is written, executed, or followed out of its root. The modules
import the blocking client and what is below it. Begin with :mod:`reel.importing.steps`.

To add a tool, write a module with a ``TOOL``, and name it in the table. It is imported when it is used.
"""

from importlib import import_module

from reel.importing.steps import Tool

# The module of each tool, in the order in which they are listed.
MODULES = {
    "claude-code": "claude_code.tool",
    "codex": "codex.tool",
    "opencode": "opencode.tool",
    "gemini-cli": "gemini_cli.tool",
    "pi": "pi.tool",
    "openclaw": "pi.openclaw",
    "omp": "pi.omp",
    "copilot-cli": "copilot_cli.tool",
    "vscode-chat": "vscode_chat.tool",
    "qwen-code": "qwen_code.tool",
    "kimi-code": "kimi_code.tool",
    "mistral-vibe": "mistral_vibe",
    "kiro-cli": "kiro_cli",
    "grok-build": "grok_build",
    "openhands": "openhands.tool",
    "cursor": "cursor",
    "crush": "crush",
    "zed": "zed",
    "cline": "cline",
    "continue": "continue_dev",
    "aider": "aider",
    "chatgpt": "chatgpt.tool",
    "claude-ai": "claude_ai",
    "llm": "llm.tool",
    "openai-agents": "openai_agents",
    "jsonl": "jsonl.tool",
    "reel": "reel_log.tool",
}


def tool_named(name: str) -> Tool:
    """Return a tool by its name, which is a key of ``MODULES``."""
    tool: Tool = import_module(f"reel.importing.tools.{MODULES[name]}").TOOL
    return tool
