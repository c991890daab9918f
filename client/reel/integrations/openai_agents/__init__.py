"""Sessions of OpenAI's Agents SDK: the conversation is an agent of the daemon. docs/frameworks.md has an example.

The modules import the SDK, and what the integrations share. Begin with :mod:`reel.integrations.openai_agents.session`.
"""

from reel.integrations.frameworks import imported

with imported("openai-agents"):
    from reel.integrations.openai_agents.session import ReelSession as ReelSession
