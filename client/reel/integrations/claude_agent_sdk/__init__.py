"""The session store of the Claude Agent SDK: each transcript is an agent. docs/frameworks.md has an example.

The modules import the SDK, the importer of Claude Code's transcripts, and what the integrations share. Begin with
:mod:`reel.integrations.claude_agent_sdk.store`.
"""

from reel.integrations.frameworks import imported

with imported("claude-agent-sdk"):
    from reel.integrations.claude_agent_sdk.store import ReelSessionStore as ReelSessionStore
